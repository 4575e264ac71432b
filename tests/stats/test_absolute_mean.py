"""The mean of absolute values that are known with noise: value, bounds and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import absolute_mean

gaps = st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-6, 0.1), st.integers(1, 1000)), min_size=1, max_size=8)


def test_absolute_mean_by_hand():
    estimate = absolute_mean([0.2, -0.1], [0.0004, 0.0001], [100, 300])
    assert estimate.value == pytest.approx((100 * 0.2 + 300 * 0.1) / 400)
    deviations = np.array([0.25 * 0.02, 0.75 * 0.01])
    assert estimate.high - estimate.value == pytest.approx(1.959964 * np.sqrt((deviations**2).sum()), rel=1e-6)
    assert estimate.n == 400


def test_absolute_mean_lower_bound_exceeds_the_exact_quantile_of_one_bin():
    """The noise of a single bin is half normal, with a 97.5% quantile of 2.2414 deviations."""
    estimate = absolute_mean([0.5], [0.01], [10])
    assert 0.1 * stats.halfnorm.ppf(0.975) <= estimate.value - estimate.low <= 0.1 * 2.5


def test_absolute_mean_lower_bound_agrees_with_simulated_noise():
    deviations, sizes = np.array([0.01, 0.03, 0.02, 0.05]), np.array([10, 20, 30, 40])
    noise = np.abs(np.random.default_rng(0).normal(0, deviations, (100_000, 4))) @ sizes / 100
    estimate = absolute_mean(np.full(4, 0.5), deviations**2, sizes)
    assert estimate.value - estimate.low == pytest.approx(np.quantile(noise, 0.975), rel=0.03)


@given(gaps)
def test_absolute_mean_interval_contains_its_value_and_ignores_signs(rows):
    means, variances, sizes = map(np.array, zip(*rows, strict=True))
    estimate = absolute_mean(means, variances, sizes)
    assert 0 <= estimate.low <= estimate.value < estimate.high
    assert absolute_mean(-means, variances, sizes) == estimate


def test_absolute_mean_is_bounded_above():
    assert absolute_mean([0.99], [0.01], [5], largest=1.0).high == 1.0


def test_absolute_mean_rejects_bad_input():
    with pytest.raises(InputError, match=r"must all be \(b,\)"):
        absolute_mean([0.1, 0.2], [0.1], [1, 2])
    with pytest.raises(UndefinedError):
        absolute_mean([], [], [])
