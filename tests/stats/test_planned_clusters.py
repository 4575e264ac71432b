"""Plans for images in clusters: design effects by hand, single images, and the power of planned intervals and tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from benchmarks.calibration.households import alike, changed_in_households, households
from regrade.core import InputError, TooManyImages, UndefinedError
from regrade.stats import (
    clustered_share,
    design_effects,
    group_shares,
    images_for_difference,
    images_for_half_width,
    images_per_group,
)
from regrade.stats.planned_clusters import (
    PlannedClusters,
    assumed_clusters,
    clustered_images,
    independent_images,
    measured_clusters,
)
from regrade.stats.shares_of_groups import share_difference
from regrade.studies import Basis, compare_correctness

PER_HOME = 4.5  # mean number of images of the simulated households


def test_effect_by_hand():
    assert assumed_clusters(5, 0.25) == PlannedClusters(2.0, 5.0, 3.0)
    assert (clustered_images(100, 2.2), independent_images(220, 2.2), independent_images(1, 5.0)) == (220, 100, 1)
    assert assumed_clusters(4, 1.0, 0.9).kurtosis == pytest.approx((1 - 3 * 0.09) / 0.09)


def test_measured_effect_by_hand():
    """Totals of 1, -1 and 0, 2 against 6 / 4; one more cluster of two images has 1 against 1/2: 3 / 2."""
    clusters = measured_clusters([1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2])
    assert (clusters.effect, clusters.size, clusters.kurtosis) == pytest.approx((1.5, 2.0, 1.5))


def test_images_with_power_by_hand():
    clusters = PlannedClusters(2.0, 4.0, 3.0)
    images = clusters.images_with_power(500, 0.8)
    for count, enough in ((images, True), (images - 1, False)):
        freedom = count / 4.0
        assert (count >= 1000 * chi2.ppf(0.8, freedom) / freedom) == enough


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.05, 0.95))
def test_clusters_of_one_image_change_nothing(images, correlation, power):
    clusters = assumed_clusters(1, correlation)
    assert clusters.images_with_power(images, power) == images
    assert clustered_images(images, clusters.effect) == independent_images(images, clusters.effect) == images
    assert clustered_images(images, None) == independent_images(images, None) == images


@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(2, 5))
def test_copies_of_images_multiply_the_images(right, copies):
    copied = measured_clusters(np.repeat(right, copies), np.repeat(np.arange(len(right)), copies))
    assert copied.effect == pytest.approx(copies) and copied.size == copies


def test_bad_input():
    with pytest.raises(InputError, match=r"between 0 and 1, got 1\.5"):
        assumed_clusters(4, 1.5)
    with pytest.raises(InputError, match="at least one image"):
        assumed_clusters(0.5, 0.5)
    with pytest.raises(UndefinedError, match="at least one image"):
        measured_clusters([], [])
    with pytest.raises(TooManyImages):
        clustered_images(10**10, 2.0)


def large_sample(rng, accuracy):
    homes = households(rng, 100_000)
    return measured_clusters(alike(rng, homes, rows=1)[0] < accuracy, homes)


@pytest.mark.parametrize(("accuracy", "half_width"), [(0.5, 0.05), (0.8, 0.04), (0.95, 0.02)])
def test_planned_half_width_is_reached_with_its_power(accuracy, half_width):
    rng = np.random.default_rng(0)
    images = large_sample(rng, accuracy).images_with_power(images_for_half_width(accuracy, half_width), 0.8)
    short = []
    for _ in range(300):
        homes = households(rng, round(images / PER_HOME))
        short.append(clustered_share(alike(rng, homes, rows=1)[0] < accuracy, homes).half_width <= half_width)
    assert 0.77 <= np.mean(short) <= 0.96


@pytest.mark.parametrize(("gained", "lost"), [(0.06, 0.03), (0.15, 0.05)])
def test_planned_difference_is_detected_with_its_power(gained, lost):
    """By `compare` over households; planned without them, it is detected in fewer samples."""
    rng = np.random.default_rng(1)
    homes = households(rng, 100_000)
    effect = design_effects(changed_in_households(rng, homes, gained, lost), homes)[0, 1]
    independent = images_for_difference(gained - lost, gained + lost)

    def power(images):
        shown = 0
        for _ in range(200):
            homes = households(rng, round(images / PER_HOME))
            correct = changed_in_households(rng, homes, gained, lost)
            basis = Basis("images", len(homes))
            (pair,) = compare_correctness(("new", "old"), correct, basis=basis, clusters=homes).pairs
            shown += pair.p_values.exact <= 0.05
        return shown / 200

    assert 0.76 <= power(clustered_images(independent, effect)) <= 0.92
    assert power(independent) < 0.7


def test_planned_disparity_is_shown_with_its_power():
    rng = np.random.default_rng(2)
    effect = max(large_sample(rng, accuracy).effect for accuracy in (0.8, 0.7))
    images, shown = clustered_images(images_per_group(0.8, 0.7), effect), 0
    for _ in range(300):
        homes = [households(rng, round(images / PER_HOME)) for _ in range(2)]
        right = [alike(rng, own, rows=1)[0] < accuracy for own, accuracy in zip(homes, (0.8, 0.7), strict=True)]
        groups = np.repeat([0, 1], [len(own) for own in homes])
        numbers = np.concatenate([homes[0], homes[1] + len(homes[0])])
        shown += share_difference(group_shares(np.concatenate(right), groups, numbers), 0, 1).low > 0
    assert 0.74 <= shown / 300 <= 0.9
