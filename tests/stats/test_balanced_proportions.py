"""Balanced proportions: by hand, against the functions they rest on, properties, and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.metrics import balanced_accuracy
from regrade.stats import balanced_proportion, proportion, stratified_proportion


def exact_bounds(right, n):
    """Clopper-Pearson at 95% by scipy."""
    interval = stats.binomtest(right, n).proportion_ci(method="exact")
    return interval.low, interval.high


def test_balanced_proportion_of_two_classes_by_hand():
    correct, classes = np.arange(1000) >= 19, np.arange(1000) >= 950
    (estimate,) = balanced_proportion(correct, classes)
    (low, _), (rare_low, _) = exact_bounds(931, 950), exact_bounds(50, 50)
    assert estimate.value == pytest.approx((0.98 + 1) / 2)
    assert estimate.low == pytest.approx(0.99 - np.hypot(0.98 - low, 1 - rare_low) / 2)
    assert estimate.high == pytest.approx(stratified_proportion(correct, classes)[0].high)
    assert (estimate.n, estimate.method) == (1000, "widened korn-graubard 95%")


def test_balanced_proportion_of_two_classes_is_at_least_stratified():
    correct, classes = np.arange(105) % 10 > 0, np.arange(105) >= 100
    (estimate,), (stratified,) = balanced_proportion(correct, classes), stratified_proportion(correct, classes)
    assert estimate.value == stratified.value
    assert estimate.low <= stratified.low
    assert estimate.high >= stratified.high


def test_balanced_proportion_of_one_class_is_its_proportion():
    (estimate,) = balanced_proportion(np.arange(40) < 30, np.zeros(40, dtype=int))
    expected = proportion(30, 40)
    assert estimate.value == 0.75
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=0.005)


def test_balanced_proportion_of_many_classes_is_stratified():
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 40
    correct = rng.random((3, 400)) < 0.8
    assert balanced_proportion(correct, classes) == stratified_proportion(correct, classes)


def test_balanced_proportion_of_classes_with_one_image_is_the_proportion():
    assert balanced_proportion(np.arange(50) < 45, np.arange(50)) == [proportion(45, 50)]


def test_balanced_proportion_method_depends_on_sizes_only():
    classes = np.repeat(np.arange(20), [100] * 18 + [1, 2])
    methods = {balanced_proportion(np.full(1803, share), classes)[0].method for share in (0, 1)}
    assert methods == {"widened korn-graubard 95%"}


images = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=80)


@given(images)
def test_balanced_proportion_contains_the_balanced_accuracy(pairs):
    classes, correct = (np.array(column) for column in zip(*pairs, strict=True))
    (estimate,) = balanced_proportion(correct, classes)
    assert estimate.value == pytest.approx(balanced_accuracy(correct[None], classes)[0])
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1
    assert estimate.low < estimate.high


@given(images)
def test_balanced_proportion_is_symmetric(pairs):
    classes, correct = (np.array(column) for column in zip(*pairs, strict=True))
    (right,), (wrong,) = balanced_proportion(correct, classes), balanced_proportion(~correct, classes)
    assert (right.low, right.high) == pytest.approx((1 - wrong.high, 1 - wrong.low), abs=1e-9)


UNEQUAL = [(950, 50), (95, 5), (900, 80, 20), (200,) * 10 + (10,) * 6, (200, 100, 50, 20, 10, 5, 3, 2, 1), (30,) * 8]


@pytest.mark.parametrize("share", [0.8, 0.97])
@pytest.mark.parametrize("sizes", UNEQUAL)
def test_balanced_proportion_covers(sizes, share):
    rng = np.random.default_rng(3)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    estimates = balanced_proportion(rng.random((2000, len(classes))) < share, classes)
    covered = np.mean([estimate.low <= share <= estimate.high for estimate in estimates])
    assert covered >= 0.935


def test_balanced_proportion_over_single_images_is_that_of_images_also_with_shares_of_0_and_1():
    right, classes = np.repeat([1, 0, 1, 0], [60, 12, 30, 30]), np.repeat([0, 1, 2], [60, 12, 60])
    images, clusters = (balanced_proportion(right, classes, numbers)[0] for numbers in (None, np.arange(132)))
    assert (clusters.low, clusters.high) == pytest.approx((images.low, images.high))
    assert images.high > 0.59


def test_balanced_proportion_over_clusters_covers_with_a_rare_class_that_is_often_all_right():
    rng = np.random.default_rng(5)
    classes, clusters = np.repeat([0, 1], [200, 10]), np.arange(210) // 2  # both images of a cluster are alike
    right = np.repeat(rng.random((200, 105)) < np.repeat([0.8, 0.75], [100, 5]), 2, axis=1)
    covered = [part.low <= 0.775 <= part.high for part in balanced_proportion(right, classes, clusters)]
    assert np.mean(covered) >= 0.93


def test_balanced_proportion_rejects_bad_input():
    with pytest.raises(InputError, match="3 values but 2 classes"):
        balanced_proportion([1, 0, 1], [0, 1])
    with pytest.raises(InputError, match="needs values that are 1"):
        balanced_proportion([0.5], [0])
    with pytest.raises(UndefinedError):
        balanced_proportion([], [])
