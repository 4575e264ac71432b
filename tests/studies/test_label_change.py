"""Comparison of two label versions: by hand, identical and swapped versions, and simulated coverage."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import ClassSpace, InputError, LabelSet, LabelState, MismatchError, Predictions, TestSet, Unlisted
from regrade.metrics import MultilabelRule
from regrade.studies import MultilabelScoring, ReviewedLabels, Scoring, label_diff
from regrade.studies.image_slice import ImageSlice
from regrade.studies.label_change.analysis import label_change

SPACE = ClassSpace("letters", ("a", "b", "c"), ("aye", "bee", "sea"))
CORRECT, UNCLEAR, WRONG = LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG


def images(size):
    return TestSet("images", SPACE, tuple(f"i{n}" for n in range(size)), np.zeros(size, dtype=np.int32))


def labels(size, states, problems=(), *, version=1, uncovered=()):
    """Labels from states by (image, class), and problematic images."""
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    covered = np.ones(size, dtype=bool)
    covered[list(uncovered)] = False
    return LabelSet(
        "own", version, "images", 3, pairs[:, 0], pairs[:, 1], np.array(list(states.values()), dtype=np.int8),
        covered, tuple("drawing" if n in problems else "" for n in range(size)), Unlisted.NOVEL,
    )  # fmt: skip


def judged(label_set, rule=MultilabelRule.IMAGES):
    return ReviewedLabels(MultilabelScoring(label_set, rule))


def answers(model, *classes):
    return Predictions(model, "images", "letters", np.array(classes, dtype=np.int32)[:, None])


def changed(test_set, models, before, after, **options):
    scored = [(predictions, Scoring(test_set)) for predictions in models]
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
    def test_diff(self):
        diff = label_diff(BEFORE, AFTER)
        changes = zip(diff.examples.tolist(), diff.classes.tolist(), diff.was.tolist(), diff.now.tolist(), strict=True)
        assert list(changes) == [(0, 1, 3, 1), (1, 1, 1, 0), (2, 1, 2, 3), (3, 1, 0, 1)]
        assert diff.counts() == {
            "correct added": 1,
            "unclear now wrong": 1,
            "wrong now correct": 1,
            "correct taken back": 1,
            "image problematic": 1,
            "image no longer problematic": 1,
        }

    def test_model_changes(self):
        result = changed(images(6), [ONE, TWO, THREE], BEFORE, AFTER)
        first, third, second = result.models
        assert (first.model, second.model, third.model) == ("one", "two", "three")
        # images 0 to 4 count before, 0 to 3 and 5 after: 0 to 3 in both
        assert (first.before.value, first.before.n) == (2 / 5, 5)
        assert (first.after.value, first.after.n) == (3 / 5, 5)
        assert (first.difference.value, first.difference.n, first.gained, first.lost) == (1 / 4, 4, 2, 1)
        assert (first.left, first.came) == (1, 1)
        assert (first.novel_before, first.novel_after) == (1, 1)
        assert (second.difference.value, second.before.value, second.after.value) == (0, 3 / 5, 3 / 5)
        assert [(row.model, row.rank_before, row.rank_after) for row in result.models] == [
            ("one", 3, 2), ("three", 1, 1), ("two", 2, 2),
        ]  # fmt: skip
        assert first.difference.low < 0 < first.difference.high

    def test_interval_solves_tangos_score_equation(self):
        """Both ends solve Tango's score equation, written here as in his paper."""
        size = 44
        before = labels(size, {(n, 0): CORRECT for n in range(size)} | {(0, 1): CORRECT})
        after = labels(size, {(n, 0): CORRECT for n in range(size)} | {(1, 1): CORRECT, (2, 1): CORRECT}, version=2)
        (row,) = changed(images(size), [answers("m", *([1] * size))], before, after).models
        assert (row.gained, row.lost) == (2, 1)
        assert _score(row.difference.low, 2, 1, size) == pytest.approx(1.959964, abs=1e-4)
        assert _score(row.difference.high, 2, 1, size) == pytest.approx(-1.959964, abs=1e-4)

    def test_unclear_counts_over_classes(self):
        result = changed(images(6), [ONE], BEFORE, AFTER, rule=MultilabelRule.CLASSES)
        assert "accuracies are means over classes, the difference is one over images" in result.notes
        (row,) = result.models
        assert (row.gained, row.lost) == (2, 2)  # image 2 was unclear, and is wrong now
        assert row.before.value == 3 / 5

    def test_tables(self):
        result = changed(images(6), [ONE, TWO], BEFORE, AFTER)
        assert result.pair_table().rows[0] == ("i0", "b", "bee", "wrong", "correct")
        assert result.pair_table().rows[-1] == ("i5", None, None, "problematic: drawing", "not problematic")
        assert ("correct added", 1) in result.count_table().rows
        assert result.table().notes[0].startswith("changed: 1 correct added, 1 unclear now wrong")
        assert json.loads(json.dumps(result.as_dict()))["models"][0]["difference"]["n"] == 4
        assert changed(images(6), [], BEFORE, AFTER).table() == result.count_table()


class TestSlices:
    def on_two_slices(self, *models):
        parts = [ImageSlice("early", np.arange(6) < 3), ImageSlice("late", np.arange(6) >= 3)]
        return changed(images(6), models, BEFORE, AFTER, slices=parts)

    def test_models_by_hand(self):
        early, late = self.on_two_slices(ONE, TWO).slices
        (row,) = [row for row in early.models if row.model == "one"]
        # of images 0 to 2, the prediction b is right before on 1, after on 0; of 3 to 5, before on 4, after on 3 and 5
        assert (row.before.value, row.after.value, row.gained, row.lost) == (1 / 3, 1 / 3, 1, 1)
        (row,) = [row for row in late.models if row.model == "one"]
        assert (row.before.value, row.before.n, row.after.value, row.after.n) == (1 / 2, 2, 1, 2)
        assert (row.difference.value, row.difference.n) == (1, 1)

    def test_counts_add_up(self):
        result = self.on_two_slices(ONE)
        assert [part.diff.counts() for part in result.slices] == [
            {"unclear now wrong": 1, "wrong now correct": 1, "correct taken back": 1},
            {"correct added": 1, "image problematic": 1, "image no longer problematic": 1},
        ]
        for change, number, *parts in result.count_table().rows:
            assert number == sum(parts), change

    def test_intervals_hold_for_all_models_and_slices_together(self):
        single = changed(images(6), [ONE, TWO], BEFORE, AFTER)
        result = self.on_two_slices(ONE, TWO)
        assert result.models == single.models
        assert {row.difference.method for part in result.slices for row in part.models} == {
            "paired score, 4 together 95%"
        }
        assert any("paired score, 4 together" in note for note in result.notes)

    def test_json_has_slices_only_if_there_are_any(self):
        assert "slices" not in changed(images(6), [ONE], BEFORE, AFTER).as_dict()
        content = self.on_two_slices(ONE).as_dict()["slices"]
        assert [(part["slice"], part["images"]) for part in content] == [("early", 3), ("late", 3)]

    def test_table_has_a_row_per_slice(self):
        rows = self.on_two_slices(ONE, TWO).table().records()
        assert [(row["model"], row["slice"]) for row in rows] == [
            (model, name) for model in ("one", "two") for name in ("all", "early", "late")
        ]

    def test_slice_that_neither_version_scores_raises(self):
        before, after = (labels(6, A, {5}, version=version) for version in (1, 2))
        part = ImageSlice("drawings", np.arange(6) == 5)
        with pytest.raises(InputError, match="own@1 or own@2 scores none of the 1 image of slice 'drawings'"):
            changed(images(6), [ONE], before, after, slices=[part])


def _score(difference, b, c, n):
    """Tango's statistic, from the textbook form of the constrained estimate."""
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
    def test_identical_versions_have_no_diff(self, version, classes):
        result = changed(images(SIZE), [answers("m", *classes)], version, version)
        assert not result.diff and result.diff.counts() == {}
        (row,) = result.models
        assert (row.gained, row.lost, row.left, row.came) == (0, 0, 0, 0)
        assert row.difference is None or row.difference.value == 0

    @given(VERSION, VERSION, ANSWERS)
    @settings(max_examples=60, deadline=None)
    def test_swapped_versions_negate_the_difference(self, first, second, classes):
        forward, backward = (
            changed(images(SIZE), [answers("m", *classes)], *pair) for pair in ((first, second), (second, first))
        )
        assert forward.diff.examples.tolist() == backward.diff.examples.tolist()
        assert forward.diff.was.tolist() == backward.diff.now.tolist()
        assert forward.diff.now.tolist() == backward.diff.was.tolist()
        forth, back = forward.models[0], backward.models[0]
        assert (forth.gained, forth.lost, forth.left, forth.came) == (back.lost, back.gained, back.came, back.left)
        assert (forth.before, forth.after) == (back.after, back.before)
        if forth.difference is not None:
            assert forth.difference.value == -back.difference.value
            assert forth.difference.low == pytest.approx(-back.difference.high, abs=1e-12)

    @given(VERSION, VERSION)
    @settings(max_examples=40, deadline=None)
    def test_diff_transforms_the_first_version_into_the_second(self, first, second):
        diff = label_diff(first, second)
        states = {(e, c): LabelState(s) for e, c, s in zip(first.examples, first.classes, first.states, strict=True)}
        for example, label, was, now in zip(diff.examples, diff.classes, diff.was, diff.now, strict=True):
            assert states.pop((example, label), LabelState.UNJUDGED) == was
            if now != LabelState.UNJUDGED:
                states[example, label] = LabelState(now)
        problems = set(np.flatnonzero(first.problematic)) ^ {change.example for change in diff.problems}
        again = labels(SIZE, states, problems, uncovered=np.flatnonzero(~second.covered))
        assert again.digest == second.digest


def test_coverage_of_the_paired_interval():
    """Images improve, worsen or become problematic at random: 95 of 100 intervals cover the truth."""
    rng = np.random.default_rng(4)
    size, runs, better, worse = 150, 1000, 0.08, 0.03
    test_set, model = images(size), answers("m", *([1] * size))
    inside = 0
    for _ in range(runs):
        fate = rng.choice(4, size, p=[better, worse, 0.5, 1 - better - worse - 0.5])
        problems = set(np.flatnonzero(rng.random(size) < 0.1))
        before = {(n, 1): CORRECT if f in (1, 2) else WRONG for n, f in enumerate(fate)}
        after = {(n, 1): CORRECT if f in (0, 2) else WRONG for n, f in enumerate(fate)}
        result = changed(test_set, [model], labels(size, before), labels(size, after, problems, version=2))
        estimate = result.models[0].difference
        assert estimate.n == size - len(problems)
        inside += estimate.low <= better - worse <= estimate.high
    assert 0.94 < inside / runs < 0.97


class TestErrors:
    def test_labels_of_different_sets_raise(self):
        with pytest.raises(MismatchError, match="different test sets"):
            label_diff(BEFORE, labels(7, {}))

    def test_different_rules_raise(self):
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
        label_set = labels(1, {(0, 0): CORRECT})
        with pytest.raises(InputError, match="has no original label"):
            changed(bare, [answers("m", 0)], label_set, label_set, rule=MultilabelRule.CLASSES)
