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


def test_clusters_widen_the_interval_and_single_images_do_not():
    rng, homes = np.random.default_rng(4), np.arange(400) // 4
    shares, base = (rng.random(100)[homes] for _ in range(2))
    strata, theirs = rng.integers(3, size=400), rng.integers(3, size=400)
    plain = standardized_difference(shares, strata, base, theirs)
    wide = standardized_difference(shares, strata, base, theirs, clusters=homes, base_clusters=homes)
    alone = standardized_difference(shares, strata, base, theirs, clusters=np.arange(400), base_clusters=np.arange(400))
    assert wide.value == plain.value and wide.half_width > 1.5 * plain.half_width
    assert alone.half_width == pytest.approx(plain.half_width, rel=0.02)
    assert wide.method == "clustered stratified korn-graubard, combined 95%"
    single = standardized_difference(shares, strata, base, theirs, clusters=np.zeros(400))
    assert single.high - single.low > 0.9  # one cluster says nothing of others


def test_clustered_differences_cover():
    """A fixed seed: 40 and 30 households of four images, in two strata."""
    rng, homes, theirs = np.random.default_rng(6), np.arange(160) // 4, np.arange(120) // 4
    covered = []
    for _ in range(500):
        strata, base_strata = rng.integers(2, size=160), rng.integers(2, size=120)
        right = rng.random(40)[homes] < 0.7 + 0.1 * strata
        base = rng.random(30)[theirs] < 0.6 + 0.1 * base_strata
        options = ({"clusters": homes, "base_clusters": theirs}, {})
        both = (standardized_difference(right, strata, base, base_strata, **option) for option in options)
        covered.append([difference.low <= 0.1 <= difference.high for difference in both])
    clustered, plain = np.mean(covered, axis=0)
    assert clustered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 500) and plain < 0.85
