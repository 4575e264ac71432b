"""Confidences on households of images: against oracles, properties, and coverage in simulations."""

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from scipy import special, stats

import regrade
from regrade.core import TestSet, UnknownName
from regrade.stats import bounded_mean, confidence_gap, excess_area, reliability_curve, risk_coverage_area
from regrade.studies.confidence.analysis import ImageConfidences, confidence_study
from regrade.studies.confidence.result import CalibrationVerdict
from regrade.studies.image_clusters import image_clusters, random_half

HOMES = np.repeat(np.arange(60), 1 + np.arange(60) % 8)


def bounds(estimate):
    return estimate.value, estimate.low, estimate.high


def together(rng, homes):
    """Confidences and correctness (n,) of a calibrated model; images of one household are mostly right together."""
    own = rng.random(len(homes)) < 0.2
    drawn = np.where(own, rng.random(len(homes)), rng.random(homes.max() + 1)[homes])
    sure = 0.5 + 0.49 * rng.random(homes.max() + 1)[homes]
    return sure, drawn < sure


def clustered_covariance(first, second, homes):
    """Of two means, by cluster-robust least squares on both stacked."""
    import statsmodels.api as sm

    n = len(homes)
    design = np.kron(np.eye(2), np.ones((n, 1)))
    fit = sm.OLS(np.concatenate([first, second]), design).fit(
        cov_type="cluster", cov_kwds={"groups": np.tile(homes, 2), "use_correction": False}
    )
    count = homes.max() + 1
    return fit.cov_params() * count / (count - 1)


def accuracy_with_one_more_cluster(correct, homes):
    """By hand: exact at the effective size, with the variance of one more cluster that is all right or all wrong."""
    n, share, sizes = len(homes), correct.mean(), np.bincount(homes)
    off = np.bincount(homes, correct - share)
    variance = (off @ off + (sizes @ sizes / n) ** 2 * share * (1 - share)) / n**2
    ratio = stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, len(sizes) - 1)
    size = share * (1 - share) / variance * ratio**2
    low = stats.beta.ppf(0.025, share * size, (1 - share) * size + 1)
    return share, low, stats.beta.ppf(0.975, share * size + 1, (1 - share) * size)


class TestConfidenceGap:
    def test_equal_confidences_move_the_interval_of_the_accuracy(self):
        correct = together(np.random.default_rng(1), HOMES)[1]
        gap = confidence_gap(np.full(len(HOMES), 0.9), correct, HOMES)
        accuracy = accuracy_with_one_more_cluster(correct, HOMES)
        assert bounds(gap) == pytest.approx((0.9 - accuracy[0], 0.9 - accuracy[2], 0.9 - accuracy[1]))
        assert gap.method == "clustered mover 95%"

    def test_combines_both_errors_with_their_correlation(self):
        sure, correct = together(np.random.default_rng(2), HOMES)
        gap, accuracy = confidence_gap(sure, correct, HOMES), accuracy_with_one_more_cluster(correct, HOMES)
        covariance = clustered_covariance(sure, correct.astype(float), HOMES)
        r = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        error = stats.t.ppf(0.975, 59) * np.sqrt(covariance[0, 0])
        down, up = (
            np.sqrt(a * a + error**2 - 2 * r * a * error) for a in np.abs(np.array(accuracy[:0:-1]) - accuracy[0])
        )
        assert (gap.low, gap.high) == pytest.approx((gap.value - down, gap.value + up))

    def test_all_right_is_not_certain(self):
        gap = confidence_gap(np.full(20, 0.99), np.ones(20, dtype=bool), np.arange(20) // 4)
        assert gap.low == pytest.approx(-0.01) and gap.high > 0.3

    def test_clusters_of_one_image_change_little(self):
        sure, correct = together(np.random.default_rng(3), np.arange(500))
        over, plain = confidence_gap(sure, correct, np.arange(500)), confidence_gap(sure, correct)
        assert bounds(over) == pytest.approx(bounds(plain), abs=1e-3)

    def test_covers(self):
        rng, covered = np.random.default_rng(4), []
        for _ in range(400):
            sure, correct = together(rng, HOMES)
            gaps = [confidence_gap(sure, correct, numbers) for numbers in (HOMES, None)]
            covered.append([gap.low <= 0 <= gap.high for gap in gaps])
        shares = np.mean(covered, axis=0)
        assert shares[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400) and shares[1] < 0.8


class TestReliabilityCurve:
    def test_bins_are_over_clusters(self):
        sure, correct = together(np.random.default_rng(5), HOMES)
        points = reliability_curve(sure, correct, HOMES, bins=3)
        for point in points:
            inside = (sure >= point.low) & (sure <= point.high)
            oracle = korn_graubard(correct[inside], HOMES[inside], 1 - 0.05 / 3)
            assert bounds(point.accuracy) == pytest.approx(oracle)


class TestBoundedMean:
    def test_contains_the_interval_over_clusters(self):
        rng = np.random.default_rng(6)
        losses = 2 * np.clip(rng.random(60)[HOMES] + 0.05 * rng.standard_normal(len(HOMES)), 0, 1)
        mean, plain = bounded_mean(losses, HOMES, largest=2.0), bounded_mean(losses, largest=2.0)
        share, low, high = korn_graubard(losses / 2, HOMES)
        assert mean.low <= min(2 * low, plain.low) and mean.high >= max(2 * high, plain.high)
        assert bounds(mean) == pytest.approx((2 * share, 2 * low, 2 * high), abs=2e-3) and mean.low < plain.low
        assert bounds(bounded_mean(losses, np.zeros(len(losses)), largest=2.0))[1:] == (0, 2)

    def test_half_of_a_cluster_with_the_largest_loss_by_hand(self):
        """30 households of 4 with small losses: the upper bound is exact at an effect between 1 and 4 images."""
        homes, losses = np.arange(120) // 4, np.full(120, 0.01)
        losses[::7] = 0.02
        mean, n = losses.mean(), 120
        totals = np.bincount(homes, losses - mean)
        added = 0.5 * 4 * (1 - mean) ** 2
        effect = (totals @ totals * 30 / 29 + 4 * added) / (n * mean * (1 - mean) + added)
        size = n / effect * (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, 29)) ** 2
        high = stats.beta.ppf(0.975, mean * size + 1, (1 - mean) * size)
        assert 1 < effect < 4 and bounded_mean(losses, homes, largest=1.0).high == pytest.approx(high)
        mirrored = bounded_mean(1 - losses, homes, largest=1.0)
        assert mirrored.low == pytest.approx(1 - high)

    @pytest.mark.parametrize("count", [30, 60])
    def test_rare_households_with_large_losses_are_covered(self, count):
        """Households that are wholly wrong with a probability of 5 %: with 30, one of five samples has none."""
        rng, covered = np.random.default_rng(16), []
        for _ in range(400):
            homes = np.repeat(np.arange(count), rng.integers(1, 9, count))
            losses = np.where(rng.random(count) < 0.05, 1.8, 0.01)[homes]
            covered.append(bounded_mean(losses, homes, largest=2.0))
        truth = 0.05 * 1.8 + 0.95 * 0.01
        assert np.mean([mean.low <= truth <= mean.high for mean in covered]) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 400)

    def test_clusters_of_one_image_change_little(self):
        losses = np.random.default_rng(7).random(1500) ** 3
        over, plain = bounded_mean(losses, np.arange(1500), largest=1.0), bounded_mean(losses, largest=1.0)
        assert bounds(over) == pytest.approx(bounds(plain), abs=1e-4)

    def test_covers(self):
        rng, covered = np.random.default_rng(8), []
        homes = np.repeat(np.arange(300), 4)
        for _ in range(200):
            losses = rng.random(300)[homes] ** 2
            means = [bounded_mean(losses, numbers, largest=1.0) for numbers in (homes, None)]
            covered.append([mean.low <= 1 / 3 <= mean.high for mean in means])
        shares = np.mean(covered, axis=0)
        assert shares[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200) and shares[1] < 0.8


class TestAreas:
    def test_clusters_of_one_image_change_little(self):
        sure, correct = together(np.random.default_rng(9), np.arange(800))
        for area in (risk_coverage_area, excess_area):
            over, plain = area(sure, correct, np.arange(800)), area(sure, correct)
            assert bounds(over) == pytest.approx(bounds(plain), rel=1e-2)
            assert over.method == "clustered gamma, mean weight 95%"

    def test_images_that_occur_twice_count_once(self):
        sure, correct = together(np.random.default_rng(10), np.arange(800))
        for area in (risk_coverage_area, excess_area):
            once, twice = area(sure, correct), area(np.repeat(sure, 2), np.repeat(correct, 2), np.arange(1600) // 2)
            assert bounds(twice) == pytest.approx(bounds(once), rel=0.02)

    def test_single_cluster_says_nothing_of_others(self):
        sure, correct = together(np.random.default_rng(11), np.arange(50))
        for right in (correct, np.zeros(50, dtype=bool)):
            for area in (risk_coverage_area, excess_area):
                assert bounds(area(sure, right, np.full(50, 7)))[1:] == (0, 1)

    def test_covers(self):
        many = together(np.random.default_rng(12), np.arange(400_000))
        rng, areas = np.random.default_rng(13), (risk_coverage_area, excess_area)
        truths, covered = [area(*many).value for area in areas], []
        for _ in range(300):
            drawn = together(rng, HOMES)
            ends = [[area(*drawn, numbers) for area in areas] for numbers in (HOMES, None)]
            covered.append([[e.low <= t <= e.high for e, t in zip(row, truths, strict=True)] for row in ends])
        over, plain = np.mean(covered, axis=0)
        assert over.min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300) and plain[0] < 0.85


def test_calibration_error_decides_only_for_independent_images():
    """Too sure of half of the images, not sure enough of the rest: the mean confidence is right."""
    sure = np.repeat([0.9, 0.6], 300)
    correct = np.concatenate([np.arange(300) % 10 < 6, np.arange(300) % 10 < 9])
    none = np.zeros(600, dtype=int)
    verdicts = {}
    for clusters in (None, np.arange(600)):
        images = ImageConfidences("net", "photos", sure, correct, none, None, none < 1, none * 0.0, clusters)
        (row,) = confidence_study([[images]], count=1).rows
        verdicts[clusters is None] = row.verdict
        assert row.calibration_error.low > 0
    assert verdicts == {True: CalibrationVerdict.MISCALIBRATED, False: CalibrationVerdict.NOT_SHOWN}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A calibrated model on two sets of households, whose images get the same scores and nearly always one label."""
    workspace, rng = regrade.init(tmp_path_factory.mktemp("homes") / "W"), np.random.default_rng(14)
    classes = workspace.testsets.class_space("digits")
    for name in ("old", "new"):
        scores = special.softmax(3 * rng.standard_normal((60, 10)), axis=1)
        labels = (scores.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1).clip(max=9)[HOMES]
        ids = tuple(f"{name} {place}" for place in range(len(HOMES)))
        columns = {"household": tuple(f"h{home}" for home in HOMES)}
        workspace.store.add_test_set(TestSet(name, classes, ids, labels.astype(np.int32), columns))
        jitter = np.random.default_rng(15).random((len(HOMES), 10)) * 1e-3
        drawn = scores[HOMES] + jitter
        workspace.models.add_predictions("net", drawn / drawn.sum(axis=1, keepdims=True), test_set=name)
    return workspace


def test_halves_are_of_whole_households(world):
    """The second half, on which conformal sets are tested, is not exactly half of the images."""
    test_set = world.store.test_set("old")
    rest = ~random_half(len(HOMES), image_clusters(test_set, None), np.random.default_rng(3))
    assert not set(HOMES[rest]) & set(HOMES[~rest]) and rest.sum() != len(HOMES) // 2
    sizes = [
        world.study.confidence("old", clusters=column, seed=3).rows[0].sets[0].coverage.n for column in (None, "none")
    ]
    assert sizes == [rest.sum(), len(HOMES) // 2]


def test_study_is_over_households(world):
    over, plain = (world.study.confidence("old", ["new"], target=0.5, clusters=column) for column in (None, "none"))
    for clustered, independent in zip(over.rows, plain.rows, strict=True):
        test_set = world.store.test_set(clustered.test_set)
        right = world.store.predictions.read(test_set, "net").top1 == test_set.labels
        assert bounds(clustered.accuracy) == pytest.approx(korn_graubard(right, HOMES))
        pairs = [
            (getattr(clustered, key), getattr(independent, key)) for key in ("overconfidence", "brier", "nll", "area")
        ]
        pairs += [
            (mine.accuracy, its.accuracy) for mine, its in zip(clustered.selective, independent.selective, strict=True)
        ]
        sets = [(mine.coverage, its.coverage) for mine, its in zip(clustered.sets, independent.sets, strict=True)]
        for wide, narrow in pairs + sets:
            assert wide.value == pytest.approx(narrow.value, abs=1e-9 if (wide, narrow) in pairs else 0.15)
            assert wide.high - wide.low > narrow.high - narrow.low
        assert clustered.calibration_error == independent.calibration_error
    assert "new: intervals are over 60 clusters of images, by column household" in over.notes
    assert over.notes[-1].startswith("not over clusters, but as if images were independent: calibration errors and ECE")
    assert not any("cluster" in note for note in plain.notes)
    with pytest.raises(UnknownName, match="household"):
        world.study.confidence("old", clusters="houshold")
