"""Permutation tests of two samples: worked by hand, compared with scipy, and calibrated with clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import compare_categories, compare_numbers

RUNS, LEVEL, ALARM = 200, 0.05, 1e-4
FEW = 99
"""Permutations of a simulated test."""


def most_false():
    """The number of false alarms that a test of this level exceeds with a probability of `ALARM`."""
    return stats.binom.isf(ALARM, RUNS, LEVEL)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_distance_of_kolmogorov_and_smirnov_by_hand():
    """Up to 2 there are 2 of 4 values of the first sample, and none of the second."""
    values, first = [1, 2, 3, 4, 3, 4, 5], [True] * 4 + [False] * 3
    assert compare_numbers(values, first, rng=rng()).effect == pytest.approx(1 / 2)


def test_cramers_v_by_hand():
    """Two sets that share no category: chi-square over n is 1, and chance makes it (k - 1) / (n - 1)."""
    categories, first = ["a"] * 50 + ["b"] * 50, [True] * 50 + [False] * 50
    test = compare_categories(categories, first, rng=rng())
    assert test.effect == pytest.approx(np.sqrt(1 - 1 / 99), abs=0.005)
    assert test.p_value == 1 / 1000
    assert test.units == (50, 50)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_statistics_and_p_values_agree_with_scipy(seed):
    generator = rng(seed)
    values, first = generator.integers(0, 6, 60) + generator.integers(0, 2), generator.random(60) < 0.4
    test = compare_numbers(values, first, rng=generator)
    exact = stats.ks_2samp(values[first], values[~first])
    assert test.effect == pytest.approx(exact.statistic)
    categories = compare_categories(values, first, rng=generator, permutations=1999)
    table = np.array([np.bincount(values[side], minlength=8) for side in (first, ~first)])
    theirs = stats.chi2_contingency(table[:, table.any(axis=0)], correction=False)
    assert categories.p_value == pytest.approx(theirs.pvalue, abs=0.08)


def test_the_p_value_of_few_images_is_that_of_all_arrangements():
    """Of the 20 ways to choose 3 of 6 values, 2 separate them."""
    test = compare_numbers([1, 2, 3, 4, 5, 6], [True] * 3 + [False] * 3, rng=rng(), permutations=9999)
    assert test.p_value == pytest.approx(2 / 20, abs=0.01)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_effects_depend_on_order_and_categories_only(seed):
    generator = rng(seed)
    values, first = generator.normal(size=40), generator.random(40) < 0.5
    first[:2] = True, False
    one_way, swapped = (compare_numbers(values, side, rng=rng(1)).effect for side in (first, ~first))
    assert one_way == pytest.approx(swapped)
    assert compare_numbers(np.exp(values), first, rng=rng(1)).effect == pytest.approx(one_way)
    codes = (values > 0).astype(int)
    renamed = np.where(codes, "x", "y")
    assert (
        compare_categories(codes, first, rng=rng(1)).p_value == compare_categories(renamed, first, rng=rng(1)).p_value
    )


def test_an_effect_above_the_critical_one_is_significant():
    generator = rng(3)
    for shift in np.linspace(0, 1.5, 12):
        first = np.arange(80) < 40
        test = compare_numbers(generator.normal(size=80) + shift * first, first, rng=generator)
        assert (test.effect > test.critical_effect(LEVEL)) == (test.p_value <= LEVEL)


def test_no_effect_is_significant_if_too_few_clusters_can_be_permuted():
    values, first = np.arange(12.0), np.arange(12) < 6
    assert compare_numbers(values, first, rng=rng(), clusters=np.arange(12) // 3).critical_effect(LEVEL) is None
    assert compare_numbers(values, first, rng=rng(), permutations=9).critical_effect(LEVEL) is None
    assert compare_numbers(np.ones(12), first, rng=rng()).critical_effect(LEVEL) == 0


def clustered(generator):
    """30 authors with 4 similar images each, 12 of them in the first sample: no difference but by chance."""
    author = np.repeat(np.arange(30), 4)
    first = generator.permutation(np.arange(30) < 12)[author]
    return generator.normal(size=30)[author] + 0.5 * generator.normal(size=120), first, author


@pytest.mark.parametrize("compare", [compare_numbers, compare_categories])
def test_clusters_keep_the_level(compare):
    generator, alarms, naive_alarms = rng(5), 0, 0
    for _ in range(RUNS):
        values, first, author = clustered(generator)
        observed = values if compare is compare_numbers else np.digitize(values, [-0.5, 0.5])
        test = compare(observed, first, rng=generator, clusters=author, permutations=FEW)
        alarms += test.p_value <= LEVEL
        naive_alarms += compare(observed, first, rng=generator, permutations=FEW).p_value <= LEVEL
    assert alarms <= most_false()
    assert naive_alarms > 2 * most_false()  # the simulation can tell: single images are too confident


def test_many_rare_categories_keep_the_level():
    generator, alarms, effects = rng(6), 0, []
    for _ in range(RUNS):
        first = np.arange(90) < 30
        test = compare_categories(generator.integers(0, 60, 90), first, rng=generator, permutations=FEW)
        alarms += test.p_value <= LEVEL
        effects.append(test.effect)
    assert alarms <= most_false()
    assert np.median(effects) < 0.1  # without the part of chance, V would be about 0.8


def test_strata_ignore_a_difference_between_classes():
    """Class 0 has only dogs, class 1 only cats; the sets differ in their classes, and not within them."""
    labels, first = np.repeat([0, 1], 100), np.r_[np.arange(100) < 80, np.arange(100) < 20]
    keywords = np.where(labels == 0, "dog", "cat")
    assert compare_categories(keywords, first, rng=rng()).p_value <= 0.001
    within = compare_categories(keywords, first, rng=rng(), strata=labels)
    assert (within.effect, within.p_value) == (0, 1)
    hounds = np.where(first & (labels == 0), "hound", keywords)
    assert compare_categories(hounds, first, rng=rng(), strata=labels).p_value <= 0.001


def test_comparisons_reject_what_cannot_be_compared():
    with pytest.raises(UndefinedError, match="two samples"):
        compare_numbers([1.0, 2.0], [True, True], rng=rng())
    with pytest.raises(InputError, match="finite numbers"):
        compare_numbers([1.0, np.nan], [True, False], rng=rng())
    with pytest.raises(InputError, match="3 values but 2 samples"):
        compare_categories([1, 2, 3], [True, False], rng=rng())
    with pytest.raises(InputError, match="clusters or strata"):
        compare_categories([1, 2], [True, False], rng=rng(), clusters=[1])
