"""Mean shares on subsets of images: exact for 0 and 1, paired where subsets overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import proportion, subset_difference, subset_share


def masks(size, *ranges):
    return [np.isin(np.arange(size), range(*bounds)) for bounds in ranges]


@given(st.integers(0, 60))
def test_one_model_has_about_the_exact_interval(right):
    shares = np.arange(60) < right
    own, exact = subset_share(shares, np.ones(60, bool)), proportion(right, 60)
    assert own.value == exact.value
    assert own.low == pytest.approx(exact.low, abs=0.01)
    assert own.high == pytest.approx(exact.high, abs=0.01)


def test_models_that_agree_less_give_a_shorter_interval():
    rng = np.random.default_rng(0)
    alike = np.repeat([0.0, 1.0], 100)
    differing = rng.permutation(np.repeat([0.4, 0.6], 100))
    everything = np.ones(200, bool)
    assert subset_share(differing, everything).half_width < 0.4 * subset_share(alike, everything).half_width


def test_a_difference_is_by_hand_that_of_the_means():
    shares = np.array([1.0, 0.5, 0.0, 1.0, 0.0, 0.0])
    first, second = masks(6, (0, 3), (3, 6))
    difference = subset_difference(shares, first, second)
    assert difference.value == pytest.approx(0.5 - 1 / 3)
    assert difference.n == 6
    back = subset_difference(shares, second, first)
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))


def test_shared_images_cancel():
    shares = np.random.default_rng(0).beta(2, 1, 300)
    first, same_but_ten, apart = masks(300, (0, 100), (10, 110), (200, 300))
    near, far = (subset_difference(shares, first, side) for side in (same_but_ten, apart))
    assert near.half_width < 0.45 * far.half_width
    equal = subset_difference(shares, first, first.copy())
    assert (equal.value, equal.low, equal.high) == (0, 0, 0)


def test_subsets_without_errors_are_not_certain():
    first, second = masks(40, (0, 20), (20, 40))
    difference = subset_difference(np.ones(40), first, second)
    assert difference.value == 0
    assert difference.low < -0.1 < 0.1 < difference.high


def test_subsets_need_two_images_and_shares():
    with pytest.raises(UndefinedError, match="at least two"):
        subset_share([0.5, 0.5], [True, False])
    with pytest.raises(InputError, match="between 0 and 1"):
        subset_share([0.5, 1.5], [True, True])
    with pytest.raises(InputError, match="same images"):
        subset_difference([0.5, 0.5], [True, True], [True])
