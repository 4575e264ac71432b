"""Differences at equal composition: values by hand, and agreement with the plain difference where nothing differs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import standardized_difference


def test_difference_by_hand():
    # the base has means 1/4 and 1 in the two strata; the first images are half and half: 5/8
    difference = standardized_difference([1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1])
    assert difference.value == pytest.approx(3 / 4 - 5 / 8)
    assert difference.n == 4


def test_composition_alone_makes_no_difference():
    rng = np.random.default_rng(0)
    strata, base_strata = rng.integers(0, 3, 3_000), rng.choice(3, 3_000, p=[0.8, 0.1, 0.1])
    chances = np.array([0.95, 0.7, 0.4])
    shares, base = rng.random(3_000) < chances[strata], rng.random(3_000) < chances[base_strata]
    equal = standardized_difference(shares, strata, base, base_strata)
    plain = standardized_difference(shares, np.zeros(3_000), base, np.zeros(3_000))
    assert equal.low < 0 < equal.high
    assert plain.high < -0.1


def test_strata_without_images_of_both_kinds_are_left_out():
    difference = standardized_difference([1, 0, 1, 0, 0], [0, 0, 0, 0, 5], [1, 1, 1, 1], [0, 0, 0, 7])
    assert difference.value == pytest.approx(-0.5)
    assert difference.n == 4


@given(st.integers(0, 40), st.integers(0, 40))
def test_one_stratum_gives_the_difference_of_shares_and_reverses(first, second):
    shares, base = np.arange(40) < first, np.arange(40) < second
    strata = np.zeros(40, dtype=int)
    difference = standardized_difference(shares, strata, base, strata)
    back = standardized_difference(base, strata, shares, strata)
    assert difference.value == pytest.approx((first - second) / 40)
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))
    assert -1 <= difference.low < difference.high <= 1


def test_no_common_stratum_raises():
    with pytest.raises(UndefinedError, match="no stratum has images of both kinds"):
        standardized_difference([1, 0], [0, 0], [1, 0], [1, 1])
    with pytest.raises(InputError, match="every share needs one stratum"):
        standardized_difference([1, 0], [0], [1, 0], [1, 1])
