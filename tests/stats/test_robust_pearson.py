"""Tests of robust_pearson on non-normal samples."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import pearson, robust_pearson


def draw(rng, n):
    """A skewed score and errors whose probability increases with the score."""
    scores = rng.gamma(1.2, 1.0, n)
    return scores, rng.random(n) < 1 / (1 + np.exp(3 - scores))


def test_the_value_is_pearsons_and_point_biserial():
    rng = np.random.default_rng(0)
    scores, wrong = draw(rng, 500)
    estimate = robust_pearson(scores, wrong)
    assert estimate.value == pytest.approx(stats.pointbiserialr(wrong, scores).statistic)
    assert (estimate.n, estimate.method) == (500, "pearson, delta 95%")
    assert estimate.low < estimate.value < estimate.high


def test_interval_of_normal_samples_is_near_fisher():
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = 0.6 * x + 0.8 * rng.normal(size=20_000)
    estimate, fisher = robust_pearson(x, y), pearson(x, y)
    assert (estimate.low, estimate.high) == pytest.approx((fisher.low, fisher.high), abs=5e-4)


def test_by_hand():
    """x = (0, 0, 1, 1, 2), y = (0, 0, 0, 1, 1): r = 4 / sqrt(4 * 6) and the half-width from the influences."""
    x, y = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])
    u, v = (x - 0.8) / np.sqrt(0.56), (y - 0.4) / np.sqrt(0.24)
    r = (u * v).mean()
    influence = u * v - r * (u**2 + v**2) / 2
    reach = stats.t.ppf(0.975, 2) * np.sqrt((influence**2).sum() / 2 / 5) / (1 - r**2)
    estimate = robust_pearson(x, y)
    assert estimate.value == pytest.approx(np.corrcoef(x, y)[0, 1]) == pytest.approx(r)
    assert estimate.low == pytest.approx(np.tanh(np.arctanh(r) - reach))


def test_coverage_where_fishers_interval_fails():
    rng = np.random.default_rng(2)
    scores, wrong = draw(rng, 2_000_000)
    truth = np.corrcoef(scores, wrong)[0, 1]
    samples = [draw(rng, 400) for _ in range(800)]
    held = np.mean([estimate.low <= truth <= estimate.high for estimate in (robust_pearson(*each) for each in samples)])
    fisher = np.mean([estimate.low <= truth <= estimate.high for estimate in (pearson(*each) for each in samples)])
    assert 0.92 < held < 0.975  # 0.95, give or take three deviations of 800 draws
    assert fisher < 0.91


def test_perfect_correlation_has_zero_width():
    estimate = robust_pearson([0, 0, 1, 1], [0, 0, 1, 1])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize(
    ("x", "y", "error"),
    [
        ([1, 2, 3], [1, 2, 4], UndefinedError),
        ([1, 1, 1, 1], [0, 1, 0, 1], UndefinedError),
        ([1, 2, 3, np.nan], [0, 1, 0, 1], InputError),
        ([1, 2, 3, 4], [0, 1, 0], InputError),
    ],
)
def test_robust_pearson_raises_if_undefined(x, y, error):
    with pytest.raises(error):
        robust_pearson(x, y)
