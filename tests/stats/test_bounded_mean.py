"""The mean of bounded values: value, bounds, and coverage where rare large values decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import bounded_mean, clopper_pearson
from regrade.stats.bounded_mean import MANY

shares = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_bounded_mean_of_many_zeros_and_ones_is_clopper_pearson():
    estimate = bounded_mean(np.arange(2000) < 300, largest=1.0)
    exact = clopper_pearson(300, 2000)
    assert estimate.value == 0.15
    assert (estimate.low, estimate.high) == pytest.approx((float(exact.low), float(exact.high)), rel=1e-3)


def test_bounded_mean_of_equal_values_has_a_width():
    estimate = bounded_mean(np.zeros(MANY), largest=2.0)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(2 * (1 - 0.025 ** (1 / MANY)))


def test_bounded_mean_of_one_value_says_nothing():
    estimate = bounded_mean([0.5], largest=1.0)
    assert (estimate.low, estimate.value, estimate.high) == (0, 0.5, 1)


def log_capital(values, mean):
    """The logs of what bets on a larger and on a smaller mean make of 1, value by value as in the paper."""
    total, squares, larger, smaller = 0.5, 0.25, 0.0, 0.0
    for number, value in enumerate(values, start=1):
        bet = np.sqrt(2 * np.log(2 / 0.05) / (len(values) * squares / number))
        larger += np.log(1 + min(bet, 0.75 / mean) * (value - mean))
        smaller += np.log(1 - min(bet, 0.75 / (1 - mean)) * (value - mean))
        total += value
        squares += (value - total / (number + 1)) ** 2
    return larger, smaller


def test_bounded_mean_bounds_are_where_a_bettor_gains_the_level():
    values = np.random.default_rng(3).beta(1, 3, 80)
    estimate = bounded_mean(values, largest=1.0)
    shuffled = values[np.argsort(np.arange(80) * 0.6180339887498949 % 1)]
    assert log_capital(shuffled, estimate.low)[0] == pytest.approx(np.log(40), abs=1e-6)
    assert log_capital(shuffled, estimate.high)[1] == pytest.approx(np.log(40), abs=1e-6)


@given(shares, st.floats(0.1, 10))
def test_bounded_mean_contains_its_value_and_scales(values, largest):
    unit = bounded_mean(values, largest=1.0)
    scaled = bounded_mean(largest * np.array(values), largest=largest)
    assert 0 <= unit.low <= unit.value <= unit.high <= 1
    assert unit.low < unit.high
    assert (scaled.low, scaled.high) == pytest.approx((largest * unit.low, largest * unit.high), rel=1e-6, abs=1e-9)


@given(shares)
def test_bounded_mean_is_symmetric(values):
    numbers = np.array(values)
    up, down = bounded_mean(numbers, largest=1.0), bounded_mean(1 - numbers, largest=1.0)
    assert (up.low, up.high) == pytest.approx((1 - down.high, 1 - down.low), abs=1e-6)


def test_bounded_mean_covers_where_rare_losses_decide():
    """Two images in a hundred lose 8 of at most 16: a t interval of 50 images covers two times in three."""
    rng, runs = np.random.default_rng(0), 400
    losses = np.where(rng.random((runs, 50)) < 0.02, 8.0, 0.01)
    truth = 0.02 * 8 + 0.98 * 0.01
    bounds = np.array([(e.low, e.high) for e in (bounded_mean(row, largest=16.0) for row in losses)])
    reach = stats.t.ppf(0.975, 49) * losses.std(axis=1, ddof=1) / np.sqrt(50)
    assert ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean() >= 0.95
    assert (np.abs(losses.mean(axis=1) - truth) <= reach).mean() < 0.75


def test_bounded_mean_rejects_bad_input():
    with pytest.raises(UndefinedError):
        bounded_mean([], largest=1.0)
    with pytest.raises(InputError, match=r"got \(1, 2\)"):
        bounded_mean([[0.1, 0.2]], largest=1.0)
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            bounded_mean([0.5, bad], largest=1.0)
