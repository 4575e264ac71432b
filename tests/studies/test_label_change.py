"""Two versions of labels held against each other: by hand, against themselves and turned round, and in simulation."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import ClassSpace, InputError, LabelSet, LabelState, MismatchError, Predictions, TestSet, Unlisted
from regrade.metrics import MultilabelRule
from regrade.studies import MultilabelScoring, ReviewedLabels, Scoring, label_change, label_diff

SPACE = ClassSpace("letters", ("a", "b", "c"), ("aye", "bee", "sea"))
CORRECT, UNCLEAR, WRONG = LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG


def images(size):
    return TestSet("images", SPACE, tuple(f"i{n}" for n in range(size)), np.zeros(size, dtype=np.int32))


def labels(size, states, problems=(), *, version=1, uncovered=()):
    """Labels from states by (image, class), and the images that are problematic."""
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    covered = np.ones(size, dtype=bool)
    covered[list(uncovered)] = False
    return LabelSet(
        "own", version, "images", 3, pairs[:, 0], pairs[:, 1], np.array(list(states.values()), dtype=np.int8),
        covered, tuple("drawing" if n in problems else "" for n in range(size)), Unlisted.NOVEL,
    )  # fmt: skip


def judged(found, rule=MultilabelRule.IMAGES):
    return ReviewedLabels(MultilabelScoring(found, rule))


def answers(model, *classes):
    return Predictions(model, "images", "letters", np.array(classes, dtype=np.int32)[:, None])


def changed(test_set, models, before, after, **options):
    scored = [(one, Scoring(test_set)) for one in models]
    rule = options.pop("rule", MultilabelRule.IMAGES)
    return label_change(test_set, scored, before=judged(before, rule), after=judged(after, rule), **options)


# Six images; the class a is right for all of them in both versions.
A = {(n, 0): CORRECT for n in range(6)}
BEFORE = labels(6, A | {(0, 1): WRONG, (1, 1): CORRECT, (2, 1): UNCLEAR}, {5})
AFTER = labels(6, A | {(0, 1): CORRECT, (2, 1): WRONG, (3, 1): CORRECT}, {4}, version=2)
ONE = answers("one", 1, 1, 1, 1, 0, 0)  # before right on 1, 4; after on 0, 3, 5
TWO = answers("two", 0, 0, 0, 2, 2, 2)  # before right on 0, 1, 2; after too
THREE = answers("three", 0, 0, 0, 0, 0, 0)


class TestByHand:
    def test_what_changed(self):
        diff = label_diff(BEFORE, AFTER)
        found = zip(diff.examples.tolist(), diff.classes.tolist(), diff.was.tolist(), diff.now.tolist(), strict=True)
        assert list(found) == [(0, 1, 3, 1), (1, 1, 1, 0), (2, 1, 2, 3), (3, 1, 0, 1)]
        assert diff.counts() == {
            "correct added": 1,
            "unclear now wrong": 1,
            "wrong now correct": 1,
            "correct taken back": 1,
            "image problematic": 1,
            "image no longer problematic": 1,
        }

    def test_what_it_did(self):
        found = changed(images(6), [ONE, TWO, THREE], BEFORE, AFTER)
        one, three, two = found.models
        assert (one.model, two.model, three.model) == ("one", "two", "three")
        # images 0 to 4 count before, 0 to 3 and 5 after: 0 to 3 in both
        assert (one.before.value, one.before.n) == (2 / 5, 5)
        assert (one.after.value, one.after.n) == (3 / 5, 5)
        assert (one.difference.value, one.difference.n, one.gained, one.lost) == (1 / 4, 4, 2, 1)
        assert (one.left, one.came) == (1, 1)
        assert (one.novel_before, one.novel_after) == (1, 1)
        assert (two.difference.value, two.before.value, two.after.value) == (0, 3 / 5, 3 / 5)
        assert [(row.model, row.rank_before, row.rank_after) for row in found.models] == [
            ("one", 3, 2), ("three", 1, 1), ("two", 2, 2),
        ]  # fmt: skip
        assert one.difference.low < 0 < one.difference.high

    def test_the_interval_is_that_of_a_paired_comparison(self):
        """Both ends solve Tango's score equation, written here as in his paper."""
        size = 44
        before = labels(size, {(n, 0): CORRECT for n in range(size)} | {(0, 1): CORRECT})
        after = labels(size, {(n, 0): CORRECT for n in range(size)} | {(1, 1): CORRECT, (2, 1): CORRECT}, version=2)
        (row,) = changed(images(size), [answers("m", *([1] * size))], before, after).models
        assert (row.gained, row.lost) == (2, 1)
        assert _score(row.difference.low, 2, 1, size) == pytest.approx(1.959964, abs=1e-4)
        assert _score(row.difference.high, 2, 1, size) == pytest.approx(-1.959964, abs=1e-4)

    def test_unclear_counts_over_classes(self):
        found = changed(images(6), [ONE], BEFORE, AFTER, rule=MultilabelRule.CLASSES)
        assert "accuracies are means over classes, the difference is one over images" in found.notes
        (row,) = found.models
        assert (row.gained, row.lost) == (2, 2)  # image 2 was unclear, and is wrong now
        assert row.before.value == 3 / 5

    def test_tables(self):
        found = changed(images(6), [ONE, TWO], BEFORE, AFTER)
        assert found.pair_table().rows[0] == ("i0", "b", "bee", "wrong", "correct")
        assert found.pair_table().rows[-1] == ("i5", None, None, "problematic: drawing", "not problematic")
        assert ("correct added", 1) in found.count_table().rows
        assert found.table().notes[0].startswith("changed: 1 correct added, 1 unclear now wrong")
        assert json.loads(json.dumps(found.as_dict()))["models"][0]["difference"]["n"] == 4
        assert changed(images(6), [], BEFORE, AFTER).table() == found.count_table()


def _score(difference, b, c, n):
    """Tango's statistic from the textbook's form of the constrained estimate."""
    first, second = -b - c + (2 * n - b + c) * difference, -c * difference * (1 - difference)
    q = (np.sqrt(first**2 - 8 * n * second) - first) / (4 * n)
    return (b - c - n * difference) / np.sqrt(n * (2 * q + difference * (1 - difference)))


SIZE = 12
STATES = st.dictionaries(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, 2)), st.sampled_from([CORRECT, UNCLEAR, WRONG]), max_size=20
)
SOME = st.sets(st.integers(0, SIZE - 1), max_size=4)


@st.composite
def versions(draw):
    states, problems, uncovered = draw(STATES), draw(SOME), draw(SOME)
    return labels(SIZE, states, problems, uncovered=uncovered - {n for n, _ in states} - problems)


VERSION = versions()
ANSWERS = st.lists(st.integers(0, 2), min_size=SIZE, max_size=SIZE)


class TestProperties:
    @given(VERSION, ANSWERS)
    @settings(max_examples=40, deadline=None)
    def test_nothing_differs_from_itself(self, version, classes):
        found = changed(images(SIZE), [answers("m", *classes)], version, version)
        assert not found.diff and found.diff.counts() == {}
        (row,) = found.models
        assert (row.gained, row.lost, row.left, row.came) == (0, 0, 0, 0)
        assert row.difference is None or row.difference.value == 0

    @given(VERSION, VERSION, ANSWERS)
    @settings(max_examples=60, deadline=None)
    def test_turned_round_it_is_the_negative(self, first, second, classes):
        one, other = (
            changed(images(SIZE), [answers("m", *classes)], *pair) for pair in ((first, second), (second, first))
        )
        assert one.diff.examples.tolist() == other.diff.examples.tolist()
        assert (one.diff.was.tolist(), one.diff.now.tolist()) == (other.diff.now.tolist(), other.diff.was.tolist())
        there, back = one.models[0], other.models[0]
        assert (there.gained, there.lost, there.left, there.came) == (back.lost, back.gained, back.came, back.left)
        assert (there.before, there.after) == (back.after, back.before)
        if there.difference is not None:
            assert there.difference.value == -back.difference.value
            assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-12)

    @given(VERSION, VERSION)
    @settings(max_examples=40, deadline=None)
    def test_the_changes_lead_from_one_to_the_other(self, first, second):
        diff = label_diff(first, second)
        states = {(e, c): LabelState(s) for e, c, s in zip(first.examples, first.classes, first.states, strict=True)}
        for example, label, was, now in zip(diff.examples, diff.classes, diff.was, diff.now, strict=True):
            assert states.pop((example, label), LabelState.UNJUDGED) == was
            if now != LabelState.UNJUDGED:
                states[example, label] = LabelState(now)
        problems = set(np.flatnonzero(first.problematic)) ^ {one.example for one in diff.problems}
        again = labels(SIZE, states, problems, uncovered=np.flatnonzero(~second.covered))
        assert again.digest == second.digest


def test_the_paired_interval_holds_what_it_promises():
    """Images change for better, for worse or become problematic by chance: 95 of 100 intervals hold the truth."""
    rng = np.random.default_rng(4)
    size, runs, better, worse = 150, 1000, 0.08, 0.03
    test_set, model = images(size), answers("m", *([1] * size))
    inside = 0
    for _ in range(runs):
        fate = rng.choice(4, size, p=[better, worse, 0.5, 1 - better - worse - 0.5])
        problems = set(np.flatnonzero(rng.random(size) < 0.1))
        before = {(n, 1): CORRECT if f in (1, 2) else WRONG for n, f in enumerate(fate)}
        after = {(n, 1): CORRECT if f in (0, 2) else WRONG for n, f in enumerate(fate)}
        found = changed(test_set, [model], labels(size, before), labels(size, after, problems, version=2))
        estimate = found.models[0].difference
        assert estimate.n == size - len(problems)
        inside += estimate.low <= better - worse <= estimate.high
    assert 0.94 < inside / runs < 0.97


class TestTrouble:
    def test_labels_of_other_sets(self):
        with pytest.raises(MismatchError, match="different test sets"):
            label_diff(BEFORE, labels(7, {}))

    def test_two_rules(self):
        with pytest.raises(InputError, match="by the same rule"):
            label_change(images(6), [], before=judged(BEFORE), after=judged(AFTER, MultilabelRule.CLASSES))

    def test_no_image_that_both_score(self):
        first, second = labels(2, {(0, 0): CORRECT}, {1}), labels(2, {(1, 0): CORRECT}, {0}, version=2)
        (row,) = changed(images(2), [answers("m", 0, 0)], first, second).models
        assert row.difference is None and row.before.n == row.after.n == 1
        assert row.rank_before == row.rank_after == 1

    def test_no_image_at_all(self):
        nothing = labels(1, {(0, 0): CORRECT}, {0})
        (row,) = changed(images(1), [answers("m", 0)], nothing, nothing).models
        assert (row.before, row.difference, row.rank_before) == (None, None, None)

    def test_a_mean_over_classes_needs_labels(self):
        bare = TestSet("images", SPACE, ("i0",), np.array([-1], dtype=np.int32))
        found = labels(1, {(0, 0): CORRECT})
        with pytest.raises(InputError, match="has no original label"):
            changed(bare, [answers("m", 0)], found, found, rule=MultilabelRule.CLASSES)
