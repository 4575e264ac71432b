"""Tests of group power: over all outcomes, against statsmodels, and by simulation of the geography tests."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import samplesize_proportions_2indep_onetail

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import (
    disparity_power,
    extremes_differ,
    group_shares,
    images_per_group,
    independent_difference,
    ordered_pairs,
    share_difference,
    smallest_disparity,
)

quick = settings(deadline=None, max_examples=15, derandomize=True)


def test_disparity_power_by_hand():
    # of 4 images each, Wilson: 4 right [0.510, 1], 3 right [0.301, 0.954], 1 right [0.046, 0.699], 0 right [0, 0.490]
    # 4 and 0: 1 - hypot(0.490, 0.490) > 0; 4 and 1, 3 and 0: 0.75 - hypot(0.490, 0.449) > 0
    # 3 and 1: 0.5 - hypot(0.449, 0.449) < 0; 4 and 2: 0.5 - hypot(0.490, 0.350) < 0
    four, three, none, single = 0.9**4, 4 * 0.9**3 * 0.1, 0.8**4, 4 * 0.8**3 * 0.2
    assert disparity_power(4, 4, 0.9, 0.2) == pytest.approx(four * (none + single) + three * none)


@given(
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    second=st.floats(0, 0.9),
    part=st.floats(0.05, 1),
    comparisons=st.sampled_from([1, 2, 30]),
)
@quick
def test_disparity_power_agrees_with_all_outcomes(sizes, second, part, comparisons):
    first = second + part * (1 - second)
    a, b = np.meshgrid(np.arange(sizes[0] + 1), np.arange(sizes[1] + 1), indexing="ij")
    shown = independent_difference(a, sizes[0], b, sizes[1], confidence=1 - 0.05 / comparisons).low > 0
    chance = stats.binom.pmf(a, sizes[0], first) * stats.binom.pmf(b, sizes[1], second)
    result = disparity_power(*sizes, first, second, comparisons=comparisons)
    assert result == pytest.approx(chance[shown].sum(), abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.8, 0.75), (0.6, 0.5), (0.55, 0.53)])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_images_per_group_agree_with_statsmodels(first, second, power):
    expected = samplesize_proportions_2indep_onetail(first - second, second, power, alternative="two-sided")
    assert images_per_group(first, second, power=power) == pytest.approx(expected, rel=0.02)


def test_a_disparity_is_shown_as_often_as_planned():
    """The two tests of `study geography`: groups named beforehand, and the best and the worst of several."""
    rng, draws, groups = np.random.default_rng(0), 400, 4
    accuracies = np.array([0.9, 0.8, 0.8, 0.7])
    images = images_per_group(0.9, 0.7, comparisons=ordered_pairs(groups))
    named = images_per_group(0.9, 0.7)
    picked_shown = named_shown = 0
    for _ in range(draws):
        scores = rng.random((groups, images)) < accuracies[:, None]
        members = np.repeat(np.arange(groups), images)
        picked_shown += extremes_differ(group_shares(scores.ravel(), members))
        scores = rng.random((2, named)) < np.array([[0.9], [0.7]])
        named_shown += share_difference(group_shares(scores.ravel(), np.repeat([0, 1], named)), 0, 1).low > 0
    tolerance = 4 * math.sqrt(0.16 / draws)
    assert picked_shown / draws > 0.8 - tolerance  # the extremes are sometimes others, and then further apart
    assert named_shown / draws == pytest.approx(0.8, abs=tolerance)


@given(second=st.floats(0.05, 0.8), difference=st.floats(0.05, 0.15))
@quick
def test_a_larger_disparity_needs_fewer_images(second, difference):
    images = images_per_group(second + difference, second)
    assert images_per_group(second + 1.25 * difference, second) <= images
    assert images_per_group(second + difference, second, comparisons=30) > images
    power = disparity_power(images, images, second + difference, second)
    assert power >= 0.8
    assert disparity_power(2 * images, 2 * images, second + difference, second) > power


@pytest.mark.parametrize(("images", "accuracy"), [(1700, 0.8), (100, 0.6), (40, 1.0)])
def test_smallest_disparity_is_where_the_power_is_reached(images, accuracy):
    result = smallest_disparity(images, images, accuracy)
    assert disparity_power(images, images, accuracy, accuracy - result) >= 0.8
    assert disparity_power(images, images, accuracy, accuracy - 0.99 * result) < 0.8


def test_group_power_raises_if_undefined():
    with pytest.raises(UndefinedError, match="must be above"):
        images_per_group(0.5, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        images_per_group(1.5, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        images_per_group(0.5, math.nan)
    with pytest.raises(UndefinedError, match="at least one image"):
        disparity_power(0, 10, 0.9, 0.5)
    with pytest.raises(UndefinedError, match="cannot show any gap"):
        smallest_disparity(2, 2, 0.5)
    with pytest.raises(UndefinedError, match="cannot show any gap"):
        smallest_disparity(200, 200, 0.0)
    with pytest.raises(UndefinedError, match="two groups"):
        ordered_pairs(1)
