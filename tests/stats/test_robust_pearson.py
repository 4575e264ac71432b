"""Pearson's correlation of samples that are far from normal."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import pearson, robust_pearson


def draw(rng, n):
    """A skewed score, and whether an image is wrong, which is likelier where the score is high."""
    scores = rng.gamma(1.2, 1.0, n)
    return scores, rng.random(n) < 1 / (1 + np.exp(3 - scores))


def test_the_value_is_pearsons_and_point_biserial():
    rng = np.random.default_rng(0)
    scores, wrong = draw(rng, 500)
    found = robust_pearson(scores, wrong)
    assert found.value == pytest.approx(stats.pointbiserialr(wrong, scores).statistic)
    assert (found.n, found.method) == (500, "pearson, delta 95%")
    assert found.low < found.value < found.high


def test_of_normal_samples_the_interval_is_about_fishers():
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = 0.6 * x + 0.8 * rng.normal(size=20_000)
    found, fisher = robust_pearson(x, y), pearson(x, y)
    assert (found.low, found.high) == pytest.approx((fisher.low, fisher.high), abs=5e-4)


def test_by_hand():
    """x = (0, 0, 1, 1, 2), y = (0, 0, 0, 1, 1): r = 4 / sqrt(4 * 6) and the reach from the influences."""
    x, y = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])
    u, v = (x - 0.8) / np.sqrt(0.56), (y - 0.4) / np.sqrt(0.24)
    r = (u * v).mean()
    influence = u * v - r * (u**2 + v**2) / 2
    reach = stats.t.ppf(0.975, 2) * np.sqrt((influence**2).sum() / 2 / 5) / (1 - r**2)
    found = robust_pearson(x, y)
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1]) == pytest.approx(r)
    assert found.low == pytest.approx(np.tanh(np.arctanh(r) - reach))


def test_coverage_where_fishers_interval_fails():
    rng = np.random.default_rng(2)
    scores, wrong = draw(rng, 2_000_000)
    truth = np.corrcoef(scores, wrong)[0, 1]
    samples = [draw(rng, 400) for _ in range(800)]
    held = np.mean([found.low <= truth <= found.high for found in (robust_pearson(*each) for each in samples)])
    fisher = np.mean([found.low <= truth <= found.high for found in (pearson(*each) for each in samples)])
    assert 0.92 < held < 0.975  # 0.95, give or take three deviations of 800 draws
    assert fisher < 0.91


def test_a_perfect_correlation_has_no_interval_but_itself():
    found = robust_pearson([0, 0, 1, 1], [0, 0, 1, 1])
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize(
    ("x", "y", "error"),
    [
        ([1, 2, 3], [1, 2, 4], UndefinedError),
        ([1, 1, 1, 1], [0, 1, 0, 1], UndefinedError),
        ([1, 2, 3, np.nan], [0, 1, 0, 1], InputError),
        ([1, 2, 3, 4], [0, 1, 0], InputError),
    ],
)
def test_what_has_none_is_refused(x, y, error):
    with pytest.raises(error):
        robust_pearson(x, y)
