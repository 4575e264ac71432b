"""Generalization over households: one image each, every image twice, coverage, no effect, and mixed test sets."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from benchmarks.calibration.households import correct_in_households, households
from benchmarks.calibration.worlds import correct_predictions, counted, labeled_set, predicted
from regrade.core import UndefinedError
from regrade.core.record import json_value
from regrade.stats import Scale, clustered_share
from regrade.studies import SetPair, counts_with_noise, findings
from regrade.studies.generalization.analysis import generalization
from regrade.studies.image_clusters import image_clusters

ACCURACIES = norm.cdf(np.linspace(-0.2, 1.4, 8))


def studied(old, new, **options):
    options = {"scale": Scale.LINEAR, "band_points": 3, **options}
    return generalization([SetPair(old, new)], rng=np.random.default_rng(0), **options)


def numbers(value):
    """All numbers of JSON, in order."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list | tuple):
        return [number for part in value for number in numbers(part)]
    return [value] if isinstance(value, float | int) else []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999), st.sampled_from(Scale))
def test_clusters_of_one_image_change_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    old, new = (correct_predictions(rng, ACCURACIES, images=200) for _ in range(2))
    single, plain = (
        studied(
            *(counted(name, right, clusters) for name, right in (("old", old), ("new", new))), scale=scale, draws=50
        )
        for clusters in (rng.permutation(200), None)
    )
    assert numbers(json_value(single)) == pytest.approx(numbers(json_value(plain)))
    assert single.shifts[0].best.low == plain.shifts[0].best.low
    assert [(row.original.low, row.gap.low, row.robustness.low) for row in single.rows] == [
        (row.original.low, row.gap.low, row.robustness.low) for row in plain.rows
    ]


def test_images_twice_in_their_household_count_once():
    rng = np.random.default_rng(1)
    rights = [correct_predictions(rng, ACCURACIES, images=600) for _ in range(2)]
    once = studied(*(counted(name, right) for name, right in zip(("old", "new"), rights, strict=True)))
    twice = studied(
        *(
            counted(name, np.repeat(right, 2, axis=1), np.arange(1200) // 2)
            for name, right in zip(("old", "new"), rights, strict=True)
        )
    )
    for row, plain in zip(twice.rows, once.rows, strict=True):
        for key in ("original", "new", "gap", "robustness"):
            ours, single = getattr(row, key), getattr(plain, key)
            assert (ours.value, ours.low, ours.high) == pytest.approx(
                (single.value, single.low, single.high), abs=0.002
            )
            assert ours.n == 2 * single.n and ours.method.startswith("clustered")
    shift, plain = twice.shifts[0], once.shifts[0]
    assert (shift.mean_change.low, shift.mean_change.high) == pytest.approx(
        (plain.mean_change.low, plain.mean_change.high), abs=1e-4
    )
    assert shift.losses.sampling.low == pytest.approx(plain.losses.sampling.low, abs=0.001)
    slope, single = shift.line(Scale.PROBIT).slope, plain.line(Scale.PROBIT).slope
    assert (slope.value, slope.low, slope.high) == pytest.approx((single.value, single.low, single.high), abs=1e-3)
    assert shift.line(Scale.LINEAR).reliability == pytest.approx(plain.line(Scale.LINEAR).reliability, abs=1e-4)
    assert (shift.mean_change.method, slope.method) == (
        "t over models and clusters 95%",
        "robust t over models and clusters 95%",
    )


def test_chance_of_the_new_images_is_over_households():
    """The mean of the distances to the bounds of all models at once."""
    rng = np.random.default_rng(2)
    homes = households(rng, 80)
    right = correct_in_households(rng, ACCURACIES, homes)
    result = studied(counted("old", right, homes), counted("new", right, homes))
    shares = [clustered_share(row, homes, confidence=1 - 0.05 / 8) for row in right]
    sampling = result.shifts[0].losses.sampling
    assert sampling.low == pytest.approx(np.mean([share.value - share.high for share in shares]))
    assert sampling.high == pytest.approx(np.mean([share.value - share.low for share in shares]))
    assert sampling.method == "clustered korn-graubard, all models at once 95%"


@pytest.fixture(scope="module")
def runs():
    """No shift between 60 households on each set: results over households, and as if images were independent."""
    rng, runs = np.random.default_rng(4), []
    for _ in range(300):
        sides = [households(rng, 60) for _ in range(2)]
        rights = [correct_in_households(rng, ACCURACIES, clusters) for clusters in sides]
        over = (zip(("old", "new"), rights, groups, strict=True) for groups in (sides, (None, None)))
        runs.append([studied(*(counted(*part) for part in parts), band_points=0) for parts in over])
    return runs


class TestNoShift:
    """A fixed seed: households of one to eight images."""

    @pytest.mark.parametrize(
        ("estimate", "truth", "most_plain"),
        [
            (lambda result: result.shifts[0].mean_change, 0.0, 0.8),
            (lambda result: row_of(result).gap, 0.0, 0.88),
            (lambda result: row_of(result).new, ACCURACIES[2], 0.88),
            (lambda result: result.shifts[0].line(Scale.LINEAR).slope, 1.0, 0.97),
        ],
    )
    def test_coverage(self, runs, estimate, truth, most_plain):
        held = [[part.low <= truth <= part.high for part in map(estimate, run) if part] for run in runs]
        clustered, plain = np.mean([pair for pair in held if len(pair) == 2], axis=0)
        assert clustered >= 0.92 and plain <= most_plain and plain < clustered

    def test_no_shift_is_rarely_claimed(self, runs):
        """Over households in at most 5 % of the samples; as if images were independent, much more often."""
        claimed = [[any(finding.kind.name in _CLAIMS for finding in findings(part)) for part in run] for run in runs]
        clustered, plain = np.mean(claimed, axis=0)
        assert clustered <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300) and plain > 0.2


_CLAIMS = ("generalization: models lose or gain", "generalization: gains shrink", "generalization: off the line")


def row_of(result):
    return next(row for row in result.rows if row.model == "model 3")


class TestFromPredictions:
    homes = np.arange(120) // 4
    test_set = labeled_set(120, household=tuple(f"h{home}" for home in homes), region=tuple("NS"[h % 2] for h in homes))
    right = np.repeat(np.random.default_rng(6).random((4, 30)) < np.array([[0.4], [0.6], [0.7], [0.9]]), 4, axis=1)

    def counts(self, *, people=0, **options):
        scored = predicted(self.test_set, self.right, people=people)
        return counts_with_noise(self.test_set, scored, clusters=image_clusters(self.test_set, None), **options)

    def test_counts_noise_and_people_are_over_households(self):
        counts = self.counts(people=1)
        expected = counted("simulated", self.right, self.homes)
        sizes = [[row.effective.size for row in part.models.values()] for part in (counts, expected)]
        assert sorted(sizes[0]) == pytest.approx(sorted(sizes[1]))
        assert counts.noise.top1 == pytest.approx(expected.noise.top1[1:, 1:]) and counts.noise.clusters
        assert "simulated: intervals are over 30 clusters of images, by column household" in counts.notes

    def test_slice_is_over_its_households(self):
        counts = self.counts(slice_name="region=N")
        assert {row.effective.clusters for row in counts.models.values()} == {15}
        assert "simulated: intervals are over 15 clusters of images, by column household" in counts.notes

    def test_person_on_the_line_is_over_households(self):
        new = self.counts(people=1)
        result = studied(replace(new, test_set="old"), new)
        (person,) = result.people
        oracle = clustered_share(self.right[0], self.homes)
        assert (person.new.low, person.new.high) == pytest.approx((oracle.low, oracle.high))
        assert person.gap.method == "clustered newcombe 95%"
        assert person.robustness.method == "clustered wilson and robust t over models 95%"

    def test_images_of_one_household_say_nothing_of_others(self):
        single = labeled_set(120, household=("h",) * 120)
        with pytest.raises(UndefinedError, match=r"of one household.*--clusters none"):
            counts_with_noise(single, predicted(single, self.right), clusters=image_clusters(single, None))

    def test_counts_without_noise_do_not_mix_with_clusters(self):
        old = replace(counted("old", self.right), noise=None)
        with pytest.raises(UndefinedError, match="over clusters, every model needs two images"):
            studied(old, counted("new", self.right, self.homes))

    def test_only_one_set_has_households(self):
        old, homes = counted("old", self.right), counted("new", self.right, self.homes)
        mixed, plain = studied(old, homes), studied(old, counted("new", self.right))
        for row, expected in zip(mixed.rows, plain.rows, strict=True):
            assert (
                row.original == expected.original and row.new.low < expected.new.low and row.gap.low < expected.gap.low
            )
        assert "accuracies clopper-pearson 95% and clustered korn-graubard 95%" in str(mixed)
