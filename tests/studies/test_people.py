"""People and models: by hand, against slow reference implementations, and on simulated people."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from simulated_people import SPACE, Skill, answers, test_set

from regrade.core import (
    NO_ANSWER,
    Answerer,
    AnswerTimes,
    ClassSpace,
    InputError,
    LabelSet,
    LabelState,
    Predictions,
    TestSet,
    UndefinedError,
    UnknownName,
    Unlisted,
)
from regrade.metrics import MultilabelRule
from regrade.stats import mcnemar, proportion
from regrade.studies import Contender, MultilabelScoring, ReviewedLabels, Scoring
from regrade.studies.compare.analysis import compare
from regrade.studies.grade.analysis import grade
from regrade.studies.people.analysis import people
from regrade.studies.people.answers import fast_images, median_seconds, speed_bands, time_spent

GROUPS = {"dogs": (1, 2), "objects": (3,), "organisms": (0, 1, 2)}
ZOO = ClassSpace(
    "zoo", ("cat", "pug", "hound", "cup"), groups={"dogs": (1, 2), "objects": (3,), "organisms": (0, 1, 2)}
)
SET = TestSet("zoo", ZOO, tuple("abcdefgh"), np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32))
__ = NO_ANSWER


def person(name, classes, seconds=None, shown=None):
    given = np.array(classes, dtype=np.int32)[:, None]
    times = None if seconds is None else AnswerTimes(np.zeros(len(given)), np.array(seconds, dtype=float))
    shown = None if shown is None else np.array(shown, dtype=bool)
    return Predictions(f"person:{name}", SET.name, ZOO.name, given, by=Answerer.PERSON, covered=shown, times=times)


def model(name, classes):
    return Predictions(name, SET.name, ZOO.name, np.array(classes, dtype=np.int32)[:, None])


ANN = person("Ann", [0, 0, 1, 2, 2, 1, 3, 3], [10, 20, 30, 60, 90, 90, 10, 10])  # wrong on d, f
BOB = person("Bob", [0, 0, 1, 2, 1, 2, 3, 0], [10, 20, 70, 60, 90, 20, 10, 10])  # wrong on d, e, h
NET = model("net", [0, 1, 1, 2, 2, 2, 3, 3])  # wrong on b, d


def study(*who, labels=None, test_set=SET, seed=0, **options):
    scored = [(predictions, Scoring(test_set)) for predictions in who]
    return people(test_set, scored, rng=np.random.default_rng(seed), labels=labels, **options)


def row(result, who, subset="all"):
    return next(row for row in result.rows if (row.who, row.subset) == (who, subset))


class TestByHand:
    result = study(ANN, BOB, NET)

    def test_accuracies(self):
        assert self.result.sizes == {
            "all": 8, "without dogs": 4, "objects": 2, "organisms": 6, "fast (at most 60 s)": 7
        }  # fmt: skip
        expected = {"person:Ann": (6, 4, 2, 4, 5), "person:Bob": (5, 3, 1, 4, 5), "net": (6, 3, 2, 4, 5)}
        for who, right in expected.items():
            for (subset, size), count in zip(self.result.sizes.items(), right, strict=True):
                level, together = (0.95, "") if subset == "all" else (1 - 0.05 / 4, ", 4 together")
                expected_share = proportion(count, size, confidence=level)
                expected_share = replace(expected_share, method=f"clopper-pearson{together} 95%")
                assert row(self.result, who, subset).accuracy == expected_share
        assert row(self.result, "mean of people").accuracy.value == pytest.approx(11 / 16)
        assert row(self.result, "mean of people").accuracy.n == 8

    def test_changes(self):
        assert row(self.result, "person:Ann").change is None
        assert row(self.result, "person:Ann", "without dogs").change.value == pytest.approx(1 - 6 / 8)
        assert row(self.result, "net", "objects").change.value == pytest.approx(1 - 6 / 8)
        assert row(self.result, "mean of people", "organisms").change.value == pytest.approx(8 / 12 - 11 / 16)
        assert row(self.result, "net", "fast (at most 60 s)").chance is None

    def test_tests_of_every_person_and_model(self):
        discordant = {(pair.first, pair.second): (pair.only_first, pair.only_second) for pair in self.result.tests}
        assert discordant == {("person:Ann", "net"): (1, 1), ("person:Bob", "net"): (1, 2)}
        for pair in self.result.tests:
            expected = mcnemar(pair.only_first, pair.only_second)
            assert pair.p_values.exact == expected.exact
            assert pair.p_values.chi_square_corrected == expected.corrected

    def test_missed_images(self):
        missed = self.result.missed
        assert [image.image for image in missed.people] == ["d"]
        assert [image.image for image in missed.models] == ["b", "d"]
        assert [(image.image, image.label) for image in missed.everyone] == [("d", "pug")]

    def test_agreement(self):
        assert self.result.agreement.equal.value == pytest.approx(5 / 8)
        (pair,) = self.result.agreement.pairs
        assert (pair.first, pair.second, pair.share.value) == ("person:Ann", "person:Bob", pytest.approx(5 / 8))

    def test_times(self):
        fast = self.result.fast
        assert (fast.limit, fast.timed, fast.at_most, fast.less) == (60, 8, 7, 6)  # c at 50 s, f at 55 s, d at 60 s
        ann, bob = self.result.times
        assert (ann.median.value, ann.hours, bob.hours) == (25, pytest.approx(320 / 3600), pytest.approx(290 / 3600))
        assert ann.lower_quartile is None  # eight images are too few
        quickest = self.result.speed[0]
        assert (quickest.person, quickest.quarter, quickest.shortest, quickest.longest) == ("person:Ann", 1, 10, 10)
        assert quickest.accuracy == proportion(2, 2)

    def test_tables_and_json(self):
        for table in (
            self.result.table(), self.result.subset_table(), self.result.test_table(), self.result.time_table(),
            self.result.agreement_table(), self.result.missed_table(),
        ):  # fmt: skip
            assert table.rows and str(table) and table.to_arrow().num_rows == len(table.rows)
        assert [line[2] for line in self.result.missed_table().rows] == ["people and models", "models"]
        content = json.loads(json.dumps(self.result.as_dict(), allow_nan=False))
        assert content["subsets"]["objects"] == 2 and content["rows"][0]["kind"] in {"person", "model"}
        assert content["missed"]["everyone"] == [{"image": "d", "label": "pug"}]
        assert "all they labeled" not in [column.heading for column in self.result.table().columns]


def test_person_with_half_of_the_images():
    half = person("Half", [0, 0, 1, 1, __, __, __, __], shown=[1, 1, 1, 1, 0, 0, 0, 0])
    result = study(ANN, half, NET)
    assert result.basis.images == 4
    assert row(result, "person:Half").accuracy == proportion(4, 4)
    assert row(result, "person:Ann").accuracy == proportion(3, 4)
    assert row(result, "net").accuracy == proportion(2, 4)
    assert result.own == {"person:Ann": proportion(6, 8), "person:Half": proportion(4, 4)}
    assert "all they labeled" in [column.heading for column in result.table().columns]
    assert result.agreement.krippendorff.n == 4
    assert any("without times: person:Half" in note for note in result.notes)


def test_missing_answer_is_wrong():
    silent = person("Silent", [__, 0, 1, 1, 2, 2, 3, 3])
    result = study(silent, NET)
    assert row(result, "person:Silent").accuracy == proportion(7, 8)


def test_people_without_common_images_raise():
    first = person("F", [0, 0, 1, 1, __, __, __, __], shown=[1, 1, 1, 1, 0, 0, 0, 0])
    second = person("S", [__, __, __, __, 2, 2, 3, 3], shown=[0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(UndefinedError, match=r"shown to all of these people .*person:F 4, person:S 4.*choose some"):
        study(first, second, NET)


def test_two_people_and_no_model():
    result = study(ANN, BOB)
    assert result.tests == () and result.missed.models == () and result.missed.everyone == ()
    assert len(result.missed.people) == 1
    assert "for all models" not in str(result)
    assert result.missed_table().notes == ()
    assert study(ANN, person("Cy", SET.labels)).missed_table().notes == ("no image is missed by all people",)


def test_one_person_and_a_model():
    result = study(person("Ann", ANN.top1), NET)
    assert result.agreement is None and result.fast is None and result.times == () and result.speed == ()
    assert "mean of people" not in result.names(Contender.MEAN)
    assert result.agreement_table().rows == () and result.time_table().rows == ()
    assert "every image that person:Ann gets wrong counts as missed by all people" in result.missed_table().notes[-1]
    faultless = study(person("Ann", SET.labels), NET).missed_table()
    assert faultless.notes[:-1] == () and {line[2] for line in faultless.rows} == {"models"}
    assert study(person("Ann", SET.labels), model("net", SET.labels)).missed_table().notes[0] == (
        "no image is missed by all people, nor by all models"
    )
    assert all(name in result.sizes for name in ("all", "objects")) and len(result.sizes) == 4


def test_no_people_or_a_single_participant_raise():
    with pytest.raises(InputError, match="no person has answers"):
        study(NET, model("other", NET.top1))
    with pytest.raises(InputError, match="at least two"):
        study(ANN)


def test_subsets_by_name():
    result = study(ANN, NET, subsets=["without objects", "pug"])
    assert list(result.sizes) == ["all", "without objects", "pug", "fast (at most 60 s)"]
    assert (result.sizes["without objects"], result.sizes["pug"]) == (6, 2)
    with pytest.raises(UnknownName, match="'dgs'; did you mean dogs"):
        study(ANN, NET, subsets=["dgs"])
    no_cups = TestSet("zoo", ZOO, SET.ids, np.array([0, 0, 1, 1, 2, 2, 0, 0], dtype=np.int32))
    assert "objects" not in study(ANN, NET, test_set=no_cups).sizes
    with pytest.raises(InputError, match="no image is in the subset 'objects'"):
        study(ANN, NET, test_set=no_cups, subsets=["objects"])


def test_a_class_space_without_groups():
    plain = TestSet("zoo", ClassSpace("zoo", ZOO.ids), SET.ids, SET.labels)
    assert list(study(ANN, NET, test_set=plain).sizes) == ["all", "fast (at most 60 s)"]


class TestMultilabel:
    """d is a pug and a hound, b is problematic, h is unclear for a cat, and e was never judged as a pug."""

    def labels(self, rule):
        judged = [(i, int(label), LabelState.CORRECT) for i, label in enumerate(SET.labels)]
        judged += [(3, 2, LabelState.CORRECT), (7, 0, LabelState.UNCLEAR), (5, 1, LabelState.WRONG)]
        rows, classes, states = (np.array(column) for column in zip(*judged, strict=True))
        reasons = tuple("painting" if image == "b" else "" for image in SET.ids)
        covered = np.ones(8, dtype=bool)
        label_set = LabelSet("v", 1, "zoo", 4, rows, classes, states, covered, reasons, Unlisted.NOVEL)
        return ReviewedLabels(MultilabelScoring(label_set, rule))

    def test_only_correct_counts_and_problematic_images_do_not(self):
        result = study(ANN, BOB, NET, labels=self.labels(MultilabelRule.IMAGES))
        assert result.basis.images == 7
        right = {who: round(7 * row(result, who).accuracy.value) for who in ("person:Ann", "person:Bob", "net")}
        assert right == {"person:Ann": 6, "person:Bob": 5, "net": 7}
        assert result.novel == {"person:Bob": 1}  # e is called a pug
        assert "novel" in [column.key for column in result.table().columns]

    def test_unclear_counts_under_the_other_rule(self):
        result = study(ANN, BOB, NET, labels=self.labels(MultilabelRule.CLASSES))
        assert row(result, "person:Bob").accuracy == proportion(6, 7)
        assert any("over images" in note for note in result.basis.notes)


class TestOtherStudiesWithPartialAnswers:
    half = person("Half", [0, 0, 1, __, __, __, __, __], shown=[1, 1, 1, 1, 0, 0, 0, 0])

    def test_grade(self):
        result = grade(SET, [(predictions, Scoring(SET)) for predictions in (self.half, NET)], slices=["objects"])
        rows = {(row.model, row.slice): row for row in result.rows}
        assert rows["person:Half", "all"].top1 == proportion(3, 4)
        assert rows["person:Half", "all"].unanswered == 1  # was asked about d, and did not answer
        assert rows["person:Half", "objects"].top1 is None
        assert rows["net", "all"].top1 == proportion(6, 8)
        assert "asked about some of the images only, and graded on these: person:Half (4)" in result.notes

    def test_grade_against_judged_labels(self):
        labels = TestMultilabel().labels(MultilabelRule.IMAGES)
        result = grade(SET, [(self.half, Scoring(SET))], labels=labels)
        assert result.rows[0].multilabel == proportion(2, 3)

    def test_compare(self):
        result = compare(SET, [(predictions, Scoring(SET)) for predictions in (self.half, NET)])
        assert result.basis.images == 4
        assert (result.pairs[0].only_first, result.pairs[0].only_second) == (1, 0)
        assert "only the images that count for every model" in result.basis.notes


class TestTiming:
    def test_median_ignores_missing_times(self):
        seconds = np.array([[10, np.nan, np.nan], [30, 50, np.nan], [80, 70, np.nan]])
        np.testing.assert_array_equal(median_seconds(seconds), [30, 60, np.nan])
        fast = fast_images(median_seconds(seconds), 60)
        assert (fast.timed, fast.at_most, fast.less) == (2, 2, 1)

    def test_bands_partition_the_timed_images(self):
        rng = np.random.default_rng(0)
        seconds = rng.exponential(30, 103)
        seconds[::10] = np.nan
        right = rng.random(103) < 0.8
        bands = speed_bands("a", seconds, right, confidence=0.95)
        timed_images = np.isfinite(seconds)
        assert sum(band.accuracy.n for band in bands) == timed_images.sum()
        assert sum(round(band.accuracy.value * band.accuracy.n) for band in bands) == right[timed_images].sum()
        assert all(quicker.longest <= slower.shortest for quicker, slower in pairwise(bands))
        assert speed_bands("a", seconds[:3], right[:3], confidence=0.95) == ()

    def test_no_times(self):
        assert time_spent("a", np.full(5, np.nan), confidence=0.95) is None


SKILLS = {"A": Skill(0.90, 0.70, 20), "B": Skill(0.95, 0.80, 26), "C": Skill(0.97, 0.85, 60)}
NETS = {"weak": Skill(0.80, 0.80), "strong": Skill(0.95, 0.93)}


def simulated(seed, images=1000):
    rng = np.random.default_rng(seed)
    target = test_set(images)
    everyone = [answers(target, f"person:{name}", skill, rng) for name, skill in SKILLS.items()]
    everyone += [answers(target, name, skill, rng) for name, skill in NETS.items()]
    return study(*everyone, test_set=target, seed=seed, subsets=["without dogs", "objects"])


def test_simulated_people_are_recovered():
    """Over repetitions, intervals cover skill, subset changes and speed, and tests detect who is better."""
    results = [simulated(seed) for seed in range(30)]
    dogs = len(SPACE.group("dogs")) / 1000
    covered: dict[str, list[bool]] = {"all": [], "without dogs": [], "objects": [], "change": [], "median": []}
    for result in results:
        for name, skill in {**{f"person:{k}": v for k, v in SKILLS.items()}, **NETS}.items():
            overall = dogs * skill.dogs + (1 - dogs) * skill.elsewhere
            for subset, truth in (("all", overall), ("without dogs", skill.elsewhere), ("objects", skill.elsewhere)):
                accuracy = row(result, name, subset).accuracy
                covered[subset].append(accuracy.low <= truth <= accuracy.high)
            change = row(result, name, "without dogs").change
            covered["change"].append(change.low <= skill.elsewhere - overall <= change.high)
        mean = row(result, "mean of people")
        truth = np.mean([dogs * s.dogs + (1 - dogs) * s.elsewhere for s in SKILLS.values()])
        covered.setdefault("mean", []).append(mean.accuracy.low <= truth <= mean.accuracy.high)
        gain = np.mean([dogs * (s.elsewhere - s.dogs) for s in SKILLS.values()])
        change = row(result, "mean of people", "without dogs").change
        covered.setdefault("mean change", []).append(change.low <= gain <= change.high)
        for spent in result.times:
            truth = SKILLS[spent.person.removeprefix("person:")].seconds
            covered["median"].append(spent.median.low <= truth <= spent.median.high)
    for what, hits in covered.items():
        assert np.mean(hits) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(hits)), what
    better = [pair for result in results for pair in result.tests if (pair.first, pair.second) == ("person:C", "weak")]
    assert all(pair.holm < 0.05 and pair.difference.value > 0 for pair in better)
    equal = [pair for result in results for pair in result.tests if (pair.first, pair.second) == ("person:B", "strong")]
    assert (
        np.mean([pair.p_values.mid_p < 0.05 for pair in equal]) < 0.35
    )  # 93.2% and 94.8%: rarely a significant difference
    gains = [row(result, "person:A", "without dogs").chance.p_value for result in results]
    assert np.mean(np.array(gains) <= 0.05) > 0.9  # dogs are hard for A
    none = [row(result, "weak", "without dogs").chance.p_value for result in results]
    assert np.mean(np.array(none) <= 0.05) < 0.15  # and not for the weak model


def test_class_bootstrap_matches_a_slow_reference():
    """Draw as many classes without replacement, and count the draws with at least the same change."""
    result = simulated(3)
    target = test_set(1000)
    right = answers(target, "person:A", SKILLS["A"], np.random.default_rng(3)).top1 == target.labels
    rng = np.random.default_rng(99)
    change = right[~target.slice("dogs")].mean() - right.mean()
    drawn = np.array([right[rng.permutation(1000)[:882]].mean() - right.mean() for _ in range(4000)])
    subset_row = row(result, "person:A", "without dogs")
    assert subset_row.change.value == pytest.approx(change)
    smaller = min((drawn >= change - 1e-12).sum(), (drawn <= change + 1e-12).sum())
    assert subset_row.chance.p_value == pytest.approx(2 * (1 + smaller) / 4001, abs=0.01)
    assert (subset_row.chance.low, subset_row.chance.high) == pytest.approx(
        np.quantile(drawn, [0.025, 0.975]), abs=2e-3
    )


def test_the_same_seed_gives_the_same_result():
    assert simulated(5).as_dict() == simulated(5).as_dict()


@pytest.mark.parametrize("slow", [False, True])
def test_all_images_fast_or_none(slow):
    seconds = [100 if slow else 5] * 8
    result = study(person("Ann", ANN.top1, seconds), NET)
    assert (result.fast.at_most, "fast (at most 60 s)" in result.sizes) == ((0, False) if slow else (8, True))
    if not slow:
        assert row(result, "net", "fast (at most 60 s)").change is None


def test_person_with_few_images_is_named():
    little = person("Cy", [0, 0, 1] + [__] * 5, shown=[True] * 3 + [False] * 5)
    assert any(
        "person:Cy was asked about 3 images only, person:Ann about 8" in note for note in study(ANN, little, NET).notes
    )
    assert not any("images only" in note for note in study(ANN, BOB, NET).notes)


@pytest.mark.parametrize("seconds", [0, -5, float("nan")])
def test_fast_seconds_must_be_positive(seconds):
    with pytest.raises(InputError, match="more than 0 seconds"):
        study(ANN, NET, fast_seconds=seconds)
