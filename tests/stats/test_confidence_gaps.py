"""Confidence minus accuracy and reliability curves: by hand, against scipy, and degenerate cases."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import confidence_gap, reliability_curve


def test_confidence_gap_of_equal_confidences_moves_the_exact_interval():
    gap = confidence_gap(np.full(50, 0.9), np.arange(50) < 40)
    exact = stats.binomtest(40, 50).proportion_ci(method="exact")
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.1, 0.9 - exact.high, 0.9 - exact.low))


def test_confidence_gap_is_narrower_if_confidence_tells_right_from_wrong():
    correct = np.arange(200) % 4 > 0
    informed = np.where(correct, 0.9, 0.4)
    uninformed = np.roll(informed, 1)  # as often right with each confidence
    assert confidence_gap(informed, correct).half_width < 0.8 * confidence_gap(uninformed, correct).half_width


@pytest.mark.parametrize("right", [True, False])
def test_confidence_gap_without_variation_has_an_interval(right):
    gap = confidence_gap(np.full(20, 0.5), np.full(20, right))
    assert gap.low < gap.high
    assert -1 <= gap.low <= gap.value <= gap.high <= 1


def test_confidence_gap_of_a_single_image_is_wide():
    assert confidence_gap(np.array([0.7]), np.array([True])).half_width > 0.5


def test_reliability_curve_by_hand():
    confidences = np.repeat([0.5, 0.7, 0.9], 10)
    correct = np.concatenate([np.arange(10) < 4, np.arange(10) < 7, np.arange(10) < 10])
    points = reliability_curve(confidences, correct, bins=3)
    assert [(point.low, point.high, point.mean_confidence, point.accuracy.value) for point in points] == [
        pytest.approx(expected) for expected in [(0.5, 0.5, 0.5, 0.4), (0.7, 0.7, 0.7, 0.7), (0.9, 0.9, 0.9, 1.0)]
    ]
    exact = stats.binomtest(4, 10).proportion_ci(1 - 0.05 / 3, method="exact")
    assert (points[0].accuracy.low, points[0].accuracy.high) == pytest.approx((exact.low, exact.high))
    assert points[0].accuracy.method == "clopper-pearson, 3 together 95%"


def test_reliability_curve_shares_a_bin_among_equal_confidences():
    points = reliability_curve(np.repeat([0.4, 0.8], [5, 95]), np.arange(100) % 2 > 0)
    assert [point.accuracy.n for point in points] == [5, 95]


def test_reliability_curve_of_calibrated_models_contains_the_confidences():
    rng, outside = np.random.default_rng(0), 0
    for _ in range(300):
        confidences = rng.beta(3, 1, 400)
        points = reliability_curve(confidences, rng.random(400) < confidences)
        outside += any(not p.accuracy.low <= p.mean_confidence <= p.accuracy.high for p in points)
    assert outside <= stats.binom.isf(1e-4, 300, 0.05)


def test_confidences_that_are_not_probabilities_are_rejected():
    with pytest.raises(InputError, match="take the softmax"):
        confidence_gap(np.array([1.5]), np.array([True]))
    with pytest.raises(UndefinedError, match="at least one prediction"):
        reliability_curve(np.ones(0), np.ones(0, dtype=bool))
    with pytest.raises(InputError, match=r"both be \(n,\)"):
        confidence_gap(np.ones(2), np.ones(3, dtype=bool))
