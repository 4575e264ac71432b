"""Tests of functions of half-precision numbers: at every number there is, and of any array."""

import numpy as np
import pytest

from regrade.core.half_table import HalfTable

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def test_every_half_is_converted_exactly():
    values = HalfTable(lambda numbers: numbers)(EVERY)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, EVERY.astype(np.float32))  # infinities and NaN too


def test_every_exponential_is_rounded_once():
    """exp in extended precision, to half a unit of the last place; overflow is infinite."""
    values = HalfTable(np.exp)(EVERY).astype(np.longdouble)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.exp(EVERY.astype(np.longdouble))
    np.testing.assert_array_equal(np.isnan(values), np.isnan(EVERY))
    np.testing.assert_array_equal(np.isposinf(values), expected > np.finfo(np.float32).max * (1 + 2.0**-25))
    normal = np.isfinite(values) & (expected >= np.finfo(np.float32).tiny)
    assert np.abs(values[normal] / expected[normal] - 1).max() <= 2.0**-24
    tiny = np.isfinite(values) & ~normal
    assert np.abs(values[tiny] - expected[tiny]).max() <= 2.0**-150 * (1 + 1e-6)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 3, 5)])
def test_arrays_keep_their_shape(shape):
    halves = np.random.default_rng(0).normal(size=shape).astype(np.float16)
    values = HalfTable(np.square)(halves)
    assert values.shape == shape
    np.testing.assert_array_equal(values, np.square(halves.astype(np.float64)).astype(np.float32))


def test_parts_of_arrays_are_read_in_their_order():
    halves = np.arange(24).reshape(4, 6).astype(np.float16)
    table = HalfTable(lambda numbers: numbers)
    assert table(halves[::2, 1::2]).tolist() == [[1, 3, 5], [13, 15, 17]]
    assert table(halves.T).tolist() == halves.T.tolist()


def test_values_may_be_overwritten():
    table = HalfTable(np.exp)
    halves = np.zeros(3, dtype=np.float16)
    table(halves)[:] = 7
    assert table(halves).tolist() == [1, 1, 1]
