"""People and models on households of images: against an oracle, on repeated images, and in simulations."""

from itertools import pairwise

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from running import run_well

import regrade
from regrade.core import Answerer, AnswerTimes, ClassSpace, Predictions, TestSet, UnknownName
from regrade.stats import fisher_exact
from regrade.studies import Scoring
from regrade.studies.image_clusters import image_clusters
from regrade.studies.people.accuracy import LEAD, MEAN, CorrectnessTable, Subset
from regrade.studies.people.analysis import answered_images, people
from regrade.studies.people.answers import agreement
from regrade.studies.people.sets import people_on_sets

ZOO = ClassSpace("zoo", ("cat", "pug", "cup"), groups={"dogs": (1,), "objects": (2,), "organisms": (0, 1)})
NAMES = ("person:Ann", "person:Bob", "net")


def pictured(name, homes):
    """A test set of the images of households (n,), of every class in turn."""
    labels = np.arange(len(homes), dtype=np.int32) % 3
    ids = tuple(f"{name} {place}" for place in range(len(homes)))
    return TestSet(name, ZOO, ids, labels, {"household": tuple(f"{name} {home}" for home in homes)})


def answering(target, name, right):
    classes = np.where(right, target.labels, (target.labels + 1) % 3).astype(np.int32)[:, None]
    if not name.startswith("person:"):
        return Predictions(name, target.name, ZOO.name, classes)
    times = AnswerTimes(np.zeros(len(right)), np.arange(len(right), dtype=float))
    return Predictions(name, target.name, ZOO.name, classes, by=Answerer.PERSON, times=times)


def scored(target, correct):
    return [(answering(target, name, right), Scoring(target)) for name, right in zip(NAMES, correct, strict=False)]


def of_one_set(target, correct, column=None):
    clusters = image_clusters(target, column)
    return people(target, scored(target, correct), rng=np.random.default_rng(0), clusters=clusters)


def of_two_sets(sets, column=None):
    answered = [
        answered_images(target, scored(target, correct), clusters=image_clusters(target, column))
        for target, correct in sets
    ]
    return people_on_sets(answered)


def together(rng, homes, rates):
    """Correctness (m, n) that images of one household mostly share."""
    own = rng.random((len(rates), len(homes))) < 0.2
    drawn = np.where(own, rng.random(own.shape), rng.random((len(rates), homes.max() + 1))[:, homes])
    return drawn < np.array(rates)[:, None]


HOMES = np.repeat(np.arange(40), 1 + np.arange(40) % 5)
SET = pictured("homes", HOMES)
CORRECT = together(np.random.default_rng(4), HOMES, (0.9, 0.8, 0.6))
RESULT = of_one_set(SET, CORRECT)


def row(rows, who, subset="all"):
    return next(row for row in rows if (row.who, row.subset) == (who, subset))


def bounds(estimate):
    return estimate.value, estimate.low, estimate.high


class TestOracle:
    def test_accuracies(self):
        for who, right in zip(NAMES, CORRECT, strict=True):
            oracle = pytest.approx(korn_graubard(right, HOMES))
            assert bounds(row(RESULT.rows, who).accuracy) == oracle
            assert who == "net" or bounds(RESULT.own[who]) == oracle
            objects = SET.labels == 2
            oracle = korn_graubard(right[objects], HOMES[objects], 1 - 0.05 / 4)
            assert bounds(row(RESULT.rows, who, "objects").accuracy) == pytest.approx(oracle)

    def test_mean_of_people(self):
        mean = row(RESULT.rows, MEAN).accuracy
        assert bounds(mean) == pytest.approx(korn_graubard(CORRECT[:2].ravel(), np.tile(HOMES, 2)), abs=2e-4)
        assert mean.n == len(HOMES)

    def test_equal_answers_and_quarters_by_time(self):
        same = CORRECT[0] == CORRECT[1]
        assert bounds(RESULT.agreement.pairs[0].share) == pytest.approx(korn_graubard(same, HOMES))
        quickest = np.array_split(np.arange(len(HOMES)), 4)[0]
        oracle = korn_graubard(CORRECT[0][quickest], HOMES[quickest])
        assert bounds(RESULT.speed[0].accuracy) == pytest.approx(oracle)

    def test_gap_combines_the_intervals_of_both_sets(self):
        """Newcombe's square and add by hand; at a level of its p-value, the interval ends at 0."""
        new_homes = np.repeat(np.arange(50), 3)
        right = together(np.random.default_rng(8), new_homes, (0.6, 0.6, 0.6))
        result = of_two_sets([(SET, CORRECT), (pictured("more", new_homes), right)])
        ann = row(result.rows, "person:Ann")

        def ends(confidence):
            first, second = korn_graubard(CORRECT[0], HOMES, confidence), korn_graubard(right[0], new_homes, confidence)
            value = first[0] - second[0]
            return [
                value - np.hypot(first[0] - first[1], second[2] - second[0]),
                value + np.hypot(first[2] - first[0], second[0] - second[1]),
            ]

        assert [ann.gap.low, ann.gap.high] == pytest.approx(ends(1 - 0.05 / len(result.rows)))
        assert min(np.abs(ends(1 - ann.p_value))) == pytest.approx(0, abs=1e-6)
        assert "homes: intervals are over 40 clusters of images, by column household" in result.notes
        assert "more: intervals are over 50 clusters of images, by column household" in result.notes


def test_images_that_occur_twice_count_once():
    """Households of two equal images give the tests and nearly the intervals of the images without the copies."""
    once = pictured("once", np.arange(300))
    rng = np.random.default_rng(2)
    correct = rng.random((3, 300)) < np.array([[0.9], [0.85], [0.7]])
    twice = pictured("twice", np.repeat(np.arange(300), 2))
    object.__setattr__(twice, "labels", np.repeat(once.labels, 2))
    single, double = of_one_set(once, correct, "none"), of_one_set(twice, np.repeat(correct, 2, axis=1))
    for plain, paired in zip(single.tests, double.tests, strict=True):
        assert paired.p_values.exact == pytest.approx(plain.p_values.exact)
        assert paired.holm == pytest.approx(plain.holm)
        assert bounds(paired.difference) == pytest.approx(bounds(plain.difference), abs=2e-3)
    for who in (*NAMES, MEAN):
        for subset in ("objects", "without dogs"):
            plain, paired = row(single.rows, who, subset), row(double.rows, who, subset)
            assert bounds(paired.change) == pytest.approx(bounds(plain.change), abs=6e-3)
            assert bounds(paired.accuracy) == pytest.approx(bounds(plain.accuracy), abs=6e-3)
    independent = of_one_set(twice, np.repeat(correct, 2, axis=1), "none")
    assert independent.tests[0].p_values.exact < single.tests[0].p_values.exact / 2  # the copies would count


def test_households_of_one_image_are_nearly_independent_images():
    alone = pictured("alone", np.arange(300))
    correct = np.random.default_rng(3).random((3, 300)) < np.array([[0.9], [0.8], [0.6]])
    over, plain = of_one_set(alone, correct), of_one_set(alone, correct, "none")
    assert [pair.p_values.exact for pair in over.tests] == pytest.approx([pair.p_values.exact for pair in plain.tests])
    for clustered, independent in zip(over.rows, plain.rows, strict=True):
        assert bounds(clustered.accuracy) == pytest.approx(bounds(independent.accuracy), abs=2e-3)
        assert clustered.change is None or bounds(clustered.change) == pytest.approx(
            bounds(independent.change), abs=6e-3
        )
        assert clustered.chance == independent.chance
    assert over.agreement.krippendorff == plain.agreement.krippendorff
    second = pictured("second", np.arange(240))
    later = np.random.default_rng(5).random((3, 240)) < np.array([[0.8], [0.8], [0.5]])
    gaps, by_counts = (of_two_sets([(alone, correct), (second, later)], column) for column in (None, "none"))
    assert bounds(row(gaps.rows, LEAD).gap) == pytest.approx(bounds(row(by_counts.rows, LEAD).gap))
    for clustered, independent in zip(gaps.rows, by_counts.rows, strict=True):
        assert bounds(clustered.gap) == pytest.approx(bounds(independent.gap), abs=0.03)
        assert clustered.p_value == pytest.approx(independent.p_value, abs=0.1)


def test_notes_say_what_is_over_clusters():
    assert "intervals are over 40 clusters of images, by column household" in RESULT.notes
    assert any(note.startswith("tests of pairs use effective counts") for note in RESULT.notes)
    assert RESULT.notes[-1].endswith("as if images were independent: intervals of kappa, alpha, quantiles of times")
    assert RESULT.as_dict()["clusters"] == "household"
    plain = of_one_set(SET, CORRECT, "none")
    assert not any("cluster" in note for note in plain.notes) and "clusters" not in plain.as_dict()


def test_single_household_says_nothing_of_others():
    single = pictured("single", np.zeros(12, dtype=int))
    correct = np.random.default_rng(0).random((3, 12)) < 0.7
    result = of_one_set(single, correct)
    assert (row(result.rows, "net").accuracy.low, row(result.rows, "net").accuracy.high) == (0, 1)
    change = row(result.rows, "net", "objects").change
    assert change.low <= -0.3 and change.high >= 0.3
    gaps = of_two_sets([(single, correct), (SET, CORRECT)])
    assert all(each.who != LEAD and each.verdict.value == "no difference detected" for each in gaps.rows)


def test_change_on_a_subset_covers():
    """A fixed seed: half of the households are inside, images of one household are right together; no change."""
    rng, homes = np.random.default_rng(6), np.repeat(np.arange(60), 1 + np.arange(60) % 8)
    subset, whole = Subset("half", homes % 2 == 0), Subset("all", np.ones(len(homes), dtype=bool))
    covered = []
    for _ in range(400):
        right = together(rng, homes, (0.8,))
        changes = []
        for clusters in (homes, None):
            table = CorrectnessTable(
                ("net",), np.zeros(1, dtype=bool), right, np.zeros(len(homes), dtype=int), 1, 0.95, 1, clusters
            )
            assert next(iter(table.rows(whole, rng))).change is None
            changes.append(next(iter(table.rows(subset, rng))).change)
        covered.append([change.low <= 0 <= change.high for change in changes])
    shares = np.mean(covered, axis=0)
    assert shares[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400) and shares[1] < 0.8


def test_equal_answers_cover():
    rng, homes = np.random.default_rng(7), np.repeat(np.arange(50), 1 + np.arange(50) % 8)
    clusters = image_clusters(pictured("homes", homes), None)
    covered = []
    for _ in range(300):
        answers = np.stack([np.zeros(len(homes), dtype=int), (~together(rng, homes, (0.7,))[0]).astype(int)])
        shares = [
            agreement(NAMES[:2], answers, np.ones(len(homes), dtype=bool), part, confidence=0.95).equal
            for part in (clusters, None)
        ]
        covered.append([share.low <= 0.7 <= share.high for share in shares])
    rates = np.mean(covered, axis=0)
    assert rates[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300) and rates[1] < 0.8


def test_gap_without_an_effect_is_rarely_claimed():
    """A fixed seed: two sets of households on which a person is equally accurate."""
    rng = np.random.default_rng(9)
    homes = [np.repeat(np.arange(30), 1 + np.arange(30) % 6) for _ in range(2)]
    sets = [pictured(name, each) for name, each in zip(("old", "new"), homes, strict=True)]
    claimed, by_counts = [], []
    for _ in range(60):
        drawn = [together(rng, each, (0.8, 0.8)) for each in homes]
        answers = list(zip(sets, drawn, strict=True))
        answered = [
            answered_images(target, scored(target, right), subsets=["objects"], clusters=image_clusters(target, None))
            for target, right in answers
        ]
        result = people_on_sets(answered)
        claimed.append(any(each.verdict.value != "no difference detected" for each in result.rows))
        counts = [number for right in drawn for number in (right[0].sum(), right.shape[1])]
        by_counts.append(fisher_exact(*counts) <= 0.05)
    assert np.mean(claimed) <= 0.1 and np.mean(by_counts) > 0.15


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_changes_are_wider_at_a_higher_confidence(confidence):
    subset = Subset("half", HOMES % 2 == 0)
    widths = []
    for level in (confidence - 0.1, confidence):
        table = CorrectnessTable(NAMES[2:], np.zeros(1, dtype=bool), CORRECT[2:], SET.labels, 3, level, 1, HOMES)
        change = next(iter(table.rows(subset, np.random.default_rng(0)))).change
        widths.append(change.high - change.low)
    assert all(narrow < wide for narrow, wide in pairwise(widths))


def test_command_and_workspace(tmp_path):
    workspace = regrade.init(tmp_path / "study")
    for target, correct in ((SET, CORRECT), (pictured("later", HOMES), CORRECT[:, ::-1])):
        workspace.store.add_test_set(target)
        for name, right in zip(NAMES, correct, strict=True):
            classes = np.where(right, target.labels, (target.labels + 1) % 3)
            if name == "net":
                workspace.models.add_predictions(name, np.eye(3)[classes], test_set=target.name)
                continue
            rows = [f"{image},{ZOO.ids[place]}" for image, place in zip(target.ids, classes.tolist(), strict=True)]
            (tmp_path / "answers.csv").write_text("\n".join(["image,class", *rows]) + "\n")
            person = name.removeprefix("person:")
            workspace.models.import_people(tmp_path / "answers.csv", test_set=target.name, name=person)
    over, plain = (workspace.study.people("homes", clusters=column) for column in (None, "none"))
    assert bounds(row(over.rows, "net").accuracy) == pytest.approx(korn_graubard(CORRECT[2], HOMES))
    assert row(plain.rows, "net").accuracy.method == "clopper-pearson 95%"
    ran = run_well("study", "people", "-t", "homes", "-t", "later", "-w", tmp_path / "study")
    assert "later: intervals are over 40 clusters of images, by column household" in " ".join(
        (ran.out + ran.err).split()
    )
    with pytest.raises(UnknownName, match="household"):
        workspace.study.people("homes", clusters="houshold")
    modeled = workspace.study.people("homes", clusters="household", reviewer_models=True)
    assert modeled.notes[-1].endswith("intervals of models of annotators")
