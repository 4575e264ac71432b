"""People and models on several test sets: by hand, against scipy, properties, and the figure."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_people import Skill, answers, test_set

from regrade.core import Answerer, ClassSpace, InputError, LabelSet, LabelState, Predictions, TestSet, Unlisted
from regrade.stats import clustered_mean, clustered_share, independent_difference, interval_p_value, proportion
from regrade.studies import Contender, MultilabelScoring, ReviewedLabels, Scoring, figure, findings, verdicts
from regrade.studies.people.accuracy import LEAD, MEAN
from regrade.studies.people.analysis import answered_images, people
from regrade.studies.people.result import PeoplePart
from regrade.studies.people.sets import people_on_sets
from regrade.studies.people.sets_result import GapVerdict

ZOO = ClassSpace("zoo", ("cat", "pug", "cup"), groups={"dogs": (1,), "objects": (2,), "organisms": (0, 1)})
OLD = TestSet("old", ZOO, tuple("abcdefgh"), np.array([0, 0, 1, 1, 1, 1, 2, 2], dtype=np.int32))
NEW = TestSet("new", ZOO, tuple("pqrstu"), np.array([0, 0, 1, 1, 2, 2], dtype=np.int32))


def answering(target, name, right):
    """Predictions that are right where ``right`` has a 1."""
    flags = np.array([int(flag) for flag in right], dtype=bool)
    classes = np.where(flags, target.labels, (target.labels + 1) % 3).astype(np.int32)[:, None]
    by = Answerer.PERSON if name.startswith("person:") else Answerer.MODEL
    return Predictions(name, target.name, target.class_space.name, classes, by=by)


def on_sets(*sets, **options):
    """The study of predictions (test set, predictions...) on each set."""
    answered = [
        answered_images(target, [(each, Scoring(target)) for each in predictions], **options)
        for target, *predictions in sets
    ]
    return people_on_sets(answered)


RIGHT = {"person:Ann": ("11111101", "111110"), "person:Bob": ("11100111", "111111"), "net": ("11111111", "110100")}
BY_HAND = on_sets(*(
    (target, *(answering(target, name, right[n]) for name, right in RIGHT.items()))
    for n, target in enumerate((OLD, NEW))
))  # fmt: skip


def row(result, who, subset="all", test_set="new"):
    return next(row for row in result.on(test_set, subset) if row.who == who)


class TestByHand:
    def test_sets_and_subsets(self):
        assert BY_HAND.names == ("old", "new")
        assert BY_HAND.sizes == {
            "old": {"all": 8, "without dogs": 4, "objects": 2, "organisms": 6},
            "new": {"all": 6, "without dogs": 4, "objects": 2, "organisms": 4},
        }

    def test_accuracies_are_those_of_the_single_sets(self):
        for place, target in enumerate((OLD, NEW)):
            scored = [(answering(target, name, right[place]), Scoring(target)) for name, right in RIGHT.items()]
            alone = people(target, scored, rng=np.random.default_rng(0))
            for single in alone.rows:
                together = row(BY_HAND, single.who, single.subset)
                assert (together.original, together.accuracy)[place] == single.accuracy

    def test_gaps_and_tests(self):
        ann, net = row(BY_HAND, "person:Ann"), row(BY_HAND, "net")
        assert ann.gap.value == pytest.approx(7 / 8 - 5 / 6)
        assert net.gap.value == pytest.approx(1 - 3 / 6)
        assert net.p_value == pytest.approx(stats.fisher_exact([[8, 0], [3, 3]]).pvalue)
        assert net.change.value == -net.gap.value and net.change.high == -net.gap.low
        assert BY_HAND.rows[0].who == "net" and [row.who for row in BY_HAND.on("new")][-1] == LEAD

    def test_intervals_are_simultaneous_and_agree_with_the_tests(self):
        level = 1 - 0.05 / len(BY_HAND.rows)
        bounds = independent_difference(7, 8, 5, 6, confidence=level)
        gap = row(BY_HAND, "person:Ann").gap
        assert (gap.low, gap.high) == (pytest.approx(float(bounds.low)), pytest.approx(float(bounds.high)))
        assert gap.method == f"newcombe, {len(BY_HAND.rows)} together 95%"
        assert all(row.gap.low <= 0 <= row.gap.high for row in BY_HAND.rows)

    def test_mean_of_people(self):
        mean = row(BY_HAND, MEAN)
        assert (mean.kind, mean.original.value, mean.accuracy.value) == (
            Contender.MEAN,
            13 / 16,
            pytest.approx(11 / 12),
        )
        assert (mean.original.n, mean.accuracy.n) == (8, 6)

    def test_lead_of_people(self):
        lead = row(BY_HAND, LEAD)
        assert lead.original.value == pytest.approx(13 / 16 - 1)
        assert lead.accuracy.value == pytest.approx(11 / 12 - 1 / 2)
        assert all(row.original.low >= -1 and row.accuracy.high <= 1 for row in BY_HAND.rows)
        assert lead.gap.value == pytest.approx((13 / 16 - 1) - (11 / 12 - 1 / 2))

    def test_tables_and_json(self):
        assert [column.heading for column in BY_HAND.table().columns] == [
            "who", "kind", "old (8)", "new (6)", "gap", "p-value (Holm)", "on new",
        ]  # fmt: skip
        assert len(BY_HAND.table().rows) == 5 and len(BY_HAND.subset_table().rows) == len(BY_HAND.rows) == 20
        assert BY_HAND.parts == (PeoplePart.ACCURACY, PeoplePart.SUBSETS)
        content = json.loads(json.dumps(BY_HAND.as_dict(), allow_nan=False))
        assert content["test_sets"] == ["old", "new"] and content["rows"][0]["verdict"] == "no difference detected"
        assert "level" not in content["rows"][0]
        with pytest.raises(InputError, match="the table times is about one test set"):
            BY_HAND.part(PeoplePart.TIMES)

    def test_nothing_is_claimed_of_so_few_images(self):
        assert verdicts(BY_HAND) == {GapVerdict.NOT_DETECTED}
        assert {finding.kind.claims for finding in findings(BY_HAND)} == {False}


def large(new_skill, *, sets=1, images=600, models=2):
    """Two people who are equally good on every set, and models whose accuracy on the new sets is ``new_skill``."""
    rng = np.random.default_rng(4)
    targets = [test_set(images, name=name) for name in ("old", "new", "third")[: sets + 1]]
    targets = [replace(target, ids=tuple(f"{target.name}-{name}" for name in target.ids)) for target in targets]
    return on_sets(*(
        (
            target,
            *(answers(target, f"person:{n}", Skill(0.95, 0.9, 20), rng) for n in range(2)),
            *(answers(target, f"m{n}", Skill(s, s), rng) for n in range(models)),
        )
        for target, s in zip(targets, (0.9, *[new_skill] * sets), strict=True)
    ))  # fmt: skip


class TestVerdicts:
    lower, higher = large(0.7), large(0.99)

    def test_models_are_less_accurate_on_the_new_set(self):
        assert {row(self.lower, "m0").verdict, row(self.lower, "m1").verdict} == {GapVerdict.LOWER}
        assert row(self.lower, "person:0").verdict is GapVerdict.NOT_DETECTED
        assert row(self.lower, LEAD).verdict is GapVerdict.HIGHER
        headlines = [finding.headline for finding in findings(self.lower)]
        assert headlines == [
            "Accuracy on new differs from old for none of 2 people and 2 of 2 models",
            "Relative to models, people are better on new than on old",
        ]
        assert "of 2 people 0 less and 0 more accurate; of 2 models 2 less and 0 more accurate" in str(self.lower)

    def test_models_are_more_accurate_on_the_new_set(self):
        assert row(self.higher, "m0").verdict is GapVerdict.HIGHER
        assert row(self.higher, LEAD).verdict is GapVerdict.LOWER
        assert "people are worse on new than on old" in findings(self.higher)[1].headline

    def test_every_verdict_agrees_with_its_interval(self):
        for each in (*self.lower.rows, *self.higher.rows):
            excludes_zero = each.gap.low > 0 or each.gap.high < 0
            assert excludes_zero is (each.verdict is not GapVerdict.NOT_DETECTED)


class TestThreeSets:
    result = large(0.8, sets=2)

    def test_every_new_set_is_compared_with_the_first(self):
        assert {row.test_set for row in self.result.rows} == {"new", "third"}
        headings = [column.heading for column in self.result.table().columns]
        assert "gap to new" in headings and "gap to third" in headings
        assert len(findings(self.result)) == 4

    def test_first_set_is_the_same_in_both_comparisons(self):
        assert row(self.result, "m0").original == row(self.result, "m0", test_set="third").original

    def test_figure_has_every_set(self):
        drawn = json.dumps(figure(self.result).spec)
        assert all(f'"set": "{name}"' in drawn for name in ("old", "new", "third"))


def test_figure_shows_all_people_and_the_best_models():
    drawn = figure(large(0.8, images=120, models=30))
    words = json.dumps(drawn.spec)
    assert '"person:0"' in words and "the best 16 of 30 models" in " ".join(drawn.spec["title"]["subtitle"])
    names = {point["who"] for values in drawn.spec["datasets"].values() for point in values if "who" in point}
    assert len(names) == 18


def test_people_without_models_have_no_lead():
    result = on_sets(*(
        (target, *(answering(target, name, right[n]) for name, right in RIGHT.items() if name != "net"))
        for n, target in enumerate((OLD, NEW))
    ))  # fmt: skip
    assert result.lead("new") is None and row(result, MEAN).kind is Contender.MEAN
    assert len(findings(result)) == 1 and "models" not in findings(result)[0].headline


def test_lead_that_is_the_same_on_all_images_is_undefined():
    result = on_sets((OLD, *(answering(OLD, name, "1" * 8) for name in ("person:Ann", "net"))),
                     (NEW, answering(NEW, "person:Ann", "111110"), answering(NEW, "net", "110100")))  # fmt: skip
    assert result.lead("new") is None


def test_subset_that_has_all_images_of_every_set_is_not_compared_again():
    pets = [TestSet(each.name, ZOO, each.ids, np.minimum(each.labels, 1)) for each in (OLD, NEW)]
    result = on_sets(*((each, *(answering(each, name, right[n]) for name, right in RIGHT.items()))
                       for n, each in enumerate(pets)))  # fmt: skip
    assert list(result.sizes["old"]) == ["all", "without dogs"]
    assert "left out, since it has all images of every set: organisms" in result.notes
    assert {each.subset for each in result.rows} == {"all", "without dogs"}
    assert row(result, "net").gap.method == f"newcombe, {len(result.rows)} together 95%"


def test_subset_without_images_on_one_set_is_left_out_or_refused():
    cupless = TestSet("cupless", ZOO, ("x", "y", "z"), np.array([0, 1, 1], dtype=np.int32))
    sets = ((OLD, *(answering(OLD, name, right[0]) for name, right in RIGHT.items())),
            (cupless, *(answering(cupless, name, "101") for name in RIGHT)))  # fmt: skip
    result = on_sets(*sets)
    assert list(result.sizes["old"]) == list(result.sizes["cupless"]) == ["all", "without dogs", "organisms"]
    assert "left out, without an image of cupless: objects" in result.notes
    assert row(result, "net", "without dogs", "cupless").accuracy.method == "clopper-pearson, 2 together 95%"
    with pytest.raises(InputError, match="no image is in the subset 'objects' of cupless"):
        on_sets(*sets, subsets=["objects"])


def test_judged_labels_score_both_sets():
    def labels(target):
        states = np.full(len(target), LabelState.CORRECT, dtype=np.int8)
        both = np.arange(len(target)), (target.labels + 1) % 3
        reasons = ("drawing",) + ("",) * (len(target) - 1)
        every = np.ones(len(target), dtype=bool)
        named = LabelSet("v", 1, target.name, 3, *both, states, every, reasons, Unlisted.NOVEL)
        return ReviewedLabels(MultilabelScoring(named))

    answered = [
        answered_images(
            target,
            [(answering(target, name, right[n]), Scoring(target)) for name, right in RIGHT.items()],
            labels=labels(target),
        )
        for n, target in enumerate((OLD, NEW))
    ]
    result = people_on_sets(answered)
    assert result.sizes["old"]["all"] == 7 and "against v@1" in result.table().title
    assert row(result, "person:Ann").original == proportion(1, 7)
    assert result.novel["new"] == {"person:Ann": 4, "person:Bob": 5, "net": 2}
    assert result.as_dict()["labels"] == ["v@1", "v@1"]


@given(st.integers(0, 40), st.integers(0, 30))
def test_gap_changes_sign_when_the_sets_are_exchanged(right, right_new):
    old = TestSet("old", ZOO, tuple(f"o{n}" for n in range(40)), np.zeros(40, dtype=np.int32))
    new = TestSet("new", ZOO, tuple(f"n{n}" for n in range(30)), np.zeros(30, dtype=np.int32))
    counts = {"old": (old, right), "new": (new, right_new)}
    sets = [
        (
            target,
            answering(target, "person:Ann", "1" * k + "0" * (len(target) - k)),
            answering(target, "net", "1" * len(target)),
        )
        for target, k in counts.values()
    ]
    forward, back = on_sets(*sets), on_sets(*reversed(sets))
    first, second = row(forward, "person:Ann"), row(back, "person:Ann", test_set="old")
    assert first.gap.value == pytest.approx(-second.gap.value) and first.p_value == pytest.approx(second.p_value)
    assert first.p_value == pytest.approx(stats.fisher_exact([[right, 40 - right], [right_new, 30 - right_new]]).pvalue)
    assert first.gap.low == pytest.approx(-second.gap.high)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=3, max_size=30).filter(lambda v: np.ptp(v) > 0))
def test_p_value_from_an_interval_is_that_of_the_t_test(values):
    ours = interval_p_value(lambda level: clustered_mean(values, np.arange(len(values)), confidence=level)[0])
    assert ours == pytest.approx(max(stats.ttest_1samp(values, 0).pvalue, 1e-12), rel=1e-6, abs=1e-11)


def test_p_value_of_a_mean_of_people_near_that_of_welch():
    rng = np.random.default_rng(2)
    rates = {"old": 0.9, "new": 0.86}
    right = {name: rng.random((3, 2000)) < rate for name, rate in rates.items()}

    def target(name):
        return TestSet(name, ZOO, tuple(f"{name}{n}" for n in range(2000)), np.zeros(2000, dtype=np.int32))

    result = on_sets(*((target(name), *(answering(target(name), f"person:{n}", each) for n, each in enumerate(rows)))
                       for name, rows in right.items()))  # fmt: skip
    welch = stats.ttest_ind(right["old"].mean(axis=0), right["new"].mean(axis=0), equal_var=False).pvalue
    assert np.log10(row(result, MEAN).p_value) == pytest.approx(np.log10(welch), abs=0.5)
    together = clustered_share(right["old"].ravel(), np.tile(np.arange(2000), 3))
    assert row(result, MEAN).original == replace(together, n=2000)
