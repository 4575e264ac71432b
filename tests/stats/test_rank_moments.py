"""Mean and variance of rank correlations: exact for normal pairs."""

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline

from regrade.stats.rank_moments import kendall_moments, spearman_moments

MOMENTS = [kendall_moments, spearman_moments]


def at(moments, correlation):
    """Truth, mean and variance at one correlation of the normal pairs."""
    kendalls = 2 / np.pi * np.arcsin(correlation)
    grid = kendall_moments(2).truth  # the grid is one for all
    return [float(CubicSpline(grid, part)(kendalls)) for part in (moments.truth, moments.mean, moments.variance)]


def test_kendall_by_hand():
    # four pairs at 1/2: tau = 2/pi * pi/6, and 2/pi * arcsin(1/4) = 0.160861
    truth, mean, variance = at(kendall_moments(4), 0.5)
    assert truth == mean == pytest.approx(1 / 3)
    assert variance == pytest.approx((1 - 1 / 9 + 4 * (1 / 9 - 0.160861**2)) / 6, rel=1e-5)
    assert kendall_moments(4).step == pytest.approx(4 / 12)  # one of six pairs changes from 1 to -1


def test_spearman_by_hand():
    # 6/pi * arcsin(1/4) = 0.482584; of four pairs the mean is (3 * 1/3 + 2 * 0.482584) / 5
    truth, mean, _ = at(spearman_moments(4), 0.5)
    assert truth == pytest.approx(0.482584, abs=1e-5)
    assert mean == pytest.approx(0.393034, abs=1e-5)
    assert spearman_moments(4).step == pytest.approx(6 * 2 / (4 * 15))  # two ranks move by one


@pytest.mark.parametrize("n", [2, 3, 4, 7, 50, 1000])
def test_without_correlation_the_variances_are_the_textbooks(n):
    assert at(kendall_moments(n), 0)[2] == pytest.approx(2 * (2 * n + 5) / (9 * n * (n - 1)))
    assert at(spearman_moments(n), 0)[2] == pytest.approx(1 / (n - 1))


def test_two_pairs_have_exact_moments():
    moments, tau = spearman_moments(2), kendall_moments(2).truth
    np.testing.assert_allclose(moments.mean, tau, atol=1e-12)
    np.testing.assert_allclose(moments.variance, 1 - tau**2, atol=1e-9)


def test_three_pairs_follow_from_kendall():
    # in perfect order or its reverse both squares are 1; in the four others 1/9 and 1/4
    kendalls, spearmans = kendall_moments(3), spearman_moments(3)
    square = kendalls.variance + kendalls.mean**2
    perfect = (square - 1 / 9) / (1 - 1 / 9)
    np.testing.assert_allclose(spearmans.variance + spearmans.mean**2, perfect + (1 - perfect) / 4, atol=1e-9)


@pytest.mark.parametrize("correlation", [0.1, 0.3, 0.5])
def test_spearman_agrees_with_the_series_for_many_pairs(correlation):
    # David and Mallows 1961
    series = np.polynomial.Polynomial([1, -1.563465, 0.304743, 0.155286, 0.061552, 0.022099])
    assert 1e6 * at(spearman_moments(10**6), correlation)[2] == pytest.approx(series(correlation**2), abs=1e-5)


@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize("correlation", [-0.8, 0.4, 0.97])
def test_agree_with_simulation(n, correlation):
    trials = 40_000
    x, noise = np.random.default_rng(n).normal(size=(2, trials, n))
    x, y = (stats.rankdata(part, axis=1) for part in (x, correlation * x + np.sqrt(1 - correlation**2) * noise))
    pairs = np.triu_indices(n, k=1)
    signs = np.sign(x[:, pairs[0]] - x[:, pairs[1]]) * np.sign(y[:, pairs[0]] - y[:, pairs[1]])
    drawn = {kendall_moments: signs.mean(axis=1), spearman_moments: 1 - 6 * ((x - y) ** 2).sum(axis=1) / (n**3 - n)}
    for moments, values in drawn.items():
        _, mean, variance = at(moments(n), correlation)
        assert values.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / trials))
        squares = (values - mean) ** 2
        assert squares.mean() == pytest.approx(variance, abs=4 * squares.std() / np.sqrt(trials))


@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("n", [2, 12, 1000, 10**6])
def test_perfect_order_does_not_vary_and_the_mirror_varies_as_much(moments, n):
    moment = moments(n)
    assert moment.truth[[0, -1]] == pytest.approx([-1, 1])
    assert moment.mean[[0, -1]] == pytest.approx([-1, 1])
    assert moment.variance[[0, -1]] == pytest.approx([0, 0], abs=1e-9)
    assert (np.diff(moment.truth) >= 0).all()
    np.testing.assert_allclose(moment.mean, -moment.mean[::-1], atol=1e-12)
    np.testing.assert_allclose(moment.variance, moment.variance[::-1], atol=1e-9)
