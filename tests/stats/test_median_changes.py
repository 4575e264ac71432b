"""The median over models of a change: by hand, against a bootstrap of images, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import median_change
from regrade.stats.median_changes import _covariance


def median(changes, **options):
    return median_change(changes, rng=np.random.default_rng(0), **options)


def test_median_change_by_hand():
    changes = [[1, 1, 0, 0], [1, 0, 0, 0], [-1, 0, 0, 0]]  # means 0.5, 0.25, -0.25
    estimate = median(changes)
    assert (estimate.value, estimate.n, estimate.method) == (0.25, 4, "median of models, normal 95%")
    assert estimate.low < 0.25 < estimate.high


def test_covariance_by_hand():
    # six images with the added ones: sums of squares 2 + 1 and 1 + 1, products 1 + 1, means 2/6 and 1/6
    covariance = _covariance(np.array([[1.0, 1, 0, 0], [1, 0, 0, 0]]), np.arange(4))
    expected = [[3 / 6 - 4 / 36, 2 / 6 - 2 / 36], [2 / 6 - 2 / 36, 2 / 6 - 1 / 36]]
    np.testing.assert_allclose(covariance, np.array(expected) / 6)


def test_interval_of_one_model_is_the_normal_one():
    changes = np.repeat([1, 0, -1], [150, 800, 50])
    estimate = median([changes])
    spread = 1.96 * changes.std() / np.sqrt(1000)
    assert estimate.low == pytest.approx(0.1 - spread, abs=0.001)
    assert estimate.high == pytest.approx(0.1 + spread, abs=0.001)


def test_interval_is_near_that_of_a_bootstrap_of_images():
    rng = np.random.default_rng(5)
    common = rng.random(800)
    gained = common + 0.2 * rng.random((9, 800)) > 1.05
    changes = np.where(gained, 1, np.where(common < 0.03, -1, 0))
    draws = [np.median(changes[:, rng.integers(800, size=800)].mean(axis=1)) for _ in range(2000)]
    estimate = median(changes)
    assert estimate.half_width == pytest.approx(np.subtract(*np.quantile(draws, [0.975, 0.025])) / 2, rel=0.12)


@given(st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=6, max_size=6), min_size=1, max_size=5))
def test_median_change_lies_in_its_interval_and_changes_sign_with_the_changes(changes):
    estimate, reverse = median(changes), median(-np.array(changes))
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1 and estimate.low < estimate.high
    assert reverse.value == -estimate.value


def test_a_change_that_does_not_occur_is_not_certain():
    estimate = median(np.zeros((3, 20)))
    assert estimate.value == 0 and estimate.low < -0.02 and estimate.high > 0.02


def test_higher_confidence_is_wider():
    changes = np.repeat([[1, 0]], [5, 45], axis=1)
    assert median(changes, confidence=0.99).half_width > median(changes).half_width


@pytest.mark.parametrize("changes", [np.empty((0, 5)), np.zeros((2, 1)), np.zeros(3)])
def test_too_few_models_or_images_raise(changes):
    with pytest.raises(UndefinedError, match="a model and two images"):
        median(changes)


def test_other_numbers_raise():
    with pytest.raises(InputError, match="a change must be 1"):
        median([[0.5, 0.0]])


def test_covariance_of_clusters_by_hand():
    # two clusters of two, and half a gained, half a lost and one unchanged of size 2: 8 images, means 2/8 and 1/8
    covariance = _covariance(np.array([[1.0, 1, 0, 0], [1, 0, 0, 0]]), np.array([0, 0, 1, 1]))
    deviations = np.array([[1.5, -0.5], [0.75, -0.25]])  # sums over clusters less twice the means
    added = 2 * np.outer([0.75, 0.875], [0.75, 0.875]) + 2 * np.outer([1.25, 1.125], [1.25, 1.125])
    unchanged = 4 * np.outer([0.25, 0.125], [0.25, 0.125])
    assert covariance == pytest.approx((deviations @ deviations.T + added + unchanged) / 64)


def test_one_image_per_cluster_is_the_plain_median_change():
    changes = np.random.default_rng(0).integers(-1, 2, (5, 60))
    plain = median_change(changes, rng=np.random.default_rng(1))
    clustered = median_change(changes, np.arange(60), rng=np.random.default_rng(1))
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high))
    with pytest.raises(InputError, match="60 images but 2 cluster entries"):
        median_change(changes, [0, 1], rng=np.random.default_rng(1))


def test_median_change_over_clusters_covers():
    """A fixed seed: 60 households of four images that three models gain or lose together; plain intervals miss."""
    rng, clusters, truth = np.random.default_rng(5), np.repeat(np.arange(60), 4), 0.1
    covered = {"clustered": 0, "plain": 0}
    for _ in range(300):
        drawn = (rng.random(60) + 0.05 * rng.random((3, 60))) % 1
        changes = np.where(drawn < 0.2, -1, np.where(drawn > 0.7, 1, 0))[:, clusters]
        for name, numbers in (("clustered", clusters), ("plain", None)):
            interval = median_change(changes, numbers, rng=rng)
            covered[name] += interval.low <= truth <= interval.high
    assert covered["clustered"] >= 300 * 0.95 - 3 * np.sqrt(300 * 0.95 * 0.05)
    assert covered["plain"] < 300 * 0.85
