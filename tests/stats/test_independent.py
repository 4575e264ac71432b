"""Tests of two independent proportions: by hand, against scipy and statsmodels, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from regrade.core import Estimate, InputError, UndefinedError
from regrade.stats import (
    clustered_mean,
    difference_of_samples,
    fisher_exact,
    independent_difference,
    interval_p_value,
    proportion,
    subset_effect,
    wilson,
)

counts = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def bounds(*arguments, **options):
    interval = independent_difference(*arguments, **options)
    return float(interval.low), float(interval.high)


@pytest.mark.parametrize(
    ("table", "expected"),
    # Newcombe 1998, Table II, method 10
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
        ((10, 10, 0, 10), (0.6075, 1.0)),
    ],
)
def test_independent_difference_matches_newcombe_examples(table, expected):
    assert bounds(*table) == pytest.approx(expected, abs=5e-5)


@given(first=counts, second=counts)
def test_independent_difference_matches_statsmodels(first, second):
    theirs = confint_proportions_2indep(*first, *second, method="newcomb")
    assert bounds(*first, *second) == pytest.approx(theirs, abs=1e-12)


@given(first=counts, second=counts)
def test_independent_difference_contains_value_and_is_antisymmetric(first, second):
    low, high = bounds(*first, *second)
    difference = first[0] / first[1] - second[0] / second[1]
    assert -1 <= low <= difference + 1e-12 and difference - 1e-12 <= high <= 1
    assert bounds(*second, *first) == pytest.approx((-high, -low), abs=1e-12)


def test_independent_difference_broadcasts():
    interval = independent_difference([56, 9], [70, 10], [48, 3], [80, 10])
    assert interval.low == pytest.approx([0.0524, 0.1705], abs=5e-5)


@pytest.mark.parametrize(("p", "q", "n", "m"), [(0.83, 0.72, 500, 100), (0.5, 0.5, 60, 40), (0.97, 0.93, 200, 80)])
def test_independent_difference_covers(p, q, n, m):
    # exactly: over all outcomes, weighted by how likely they are
    k, j = np.arange(n + 1), np.arange(m + 1)
    interval = independent_difference(k[:, None], n, j, m)
    covered = (interval.low <= p - q) & (p - q <= interval.high)
    weights = np.outer(stats.binom.pmf(k, n, p), stats.binom.pmf(j, m, q))
    assert 0.94 <= (weights * covered).sum() <= 0.965


def test_independent_difference_rejects_invalid_counts():
    with pytest.raises(UndefinedError):
        independent_difference(0, 0, 1, 2)
    with pytest.raises(InputError):
        independent_difference(3, 2, 1, 2)


def effect(*arguments):
    interval = subset_effect(*arguments)
    return float(interval.low), float(interval.high)


def test_subset_effect_by_hand():
    # no difference: the product (p + a cos) b sin is largest where 2 a cos² + p cos - a = 0
    share, difference = wilson(10, 200), independent_difference(5, 10, 95, 190)
    p, a, b = 0.05, float(share.high) - 0.05, float(difference.high)
    cosine = (-p + np.sqrt(p**2 + 8 * a**2)) / (4 * a)
    assert effect(5, 10, 95, 190)[1] == pytest.approx((p + a * cosine) * b * np.sqrt(1 - cosine**2), rel=1e-4)


def slow_effect(k, n, j, m):
    """Extreme differences for a grid of shares of the subset."""
    share, difference, p, d = wilson(n, n + m), independent_difference(k, n, j, m), n / (n + m), k / n - j / m
    steps = np.linspace(-1, 1, 20_001)
    shares = p + np.where(steps < 0, p - float(share.low), float(share.high) - p) * steps
    room = np.sqrt(1 - steps**2)
    low, high = (d - float(difference.low)) * room, (float(difference.high) - d) * room
    return (shares * (d - low)).min(), (shares * (d + high)).max()


@given(part=counts, rest=counts)
def test_subset_effect_matches_brute_force(part, rest):
    assert effect(*part, *rest) == pytest.approx(slow_effect(*part, *rest), abs=2e-5)


@given(part=counts, rest=counts)
def test_subset_effect_contains_value_and_excludes_zero_with_the_difference(part, rest):
    low, high = effect(*part, *rest)
    value = (part[0] + rest[0]) / (part[1] + rest[1]) - rest[0] / rest[1]
    assert low - 1e-12 <= value <= high + 1e-12 and high > low
    difference = bounds(*part, *rest)
    assert (low > 0, high < 0) == (difference[0] > 0, difference[1] < 0)


@pytest.mark.parametrize(
    ("expected", "images", "part", "rest"),
    [(3, 1_000, 0.9, 0.9), (3, 1_000, 1.0, 0.5), (10, 1_000, 0.3, 0.8), (10, 200, 1.0, 0.99), (500, 2_000, 0.0, 0.9)],
)
def test_subset_effect_covers_with_random_share(expected, images, part, rest):
    rng = np.random.default_rng(4)
    n = rng.binomial(images, expected / images, 4_000)
    n = n[n > 0]
    k, j = rng.binomial(n, part), rng.binomial(images - n, rest)
    interval = subset_effect(k, n, j, images - n)
    truth = expected / images * (part - rest)
    assert np.mean((interval.low <= truth + 1e-12) & (interval.high >= truth - 1e-12)) >= 0.93


@given(first=counts, second=counts)
def test_fisher_exact_matches_scipy(first, second):
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher_exact(*first, *second) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-6)


def test_fisher_exact_by_hand():
    # of 70 tables with 4 right of 8, 1 + 16 + 16 + 1 are as unlikely as 3 and 1
    assert fisher_exact(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert fisher_exact(4, 4, 9, 9) == 1


def test_difference_of_samples_by_hand():
    difference = difference_of_samples(Estimate(0.8, 0.77, 0.84, 500, ""), Estimate(0.7, 0.66, 0.73, 400, ""))
    assert (difference.value, difference.low) == (pytest.approx(0.1), pytest.approx(0.1 - np.hypot(0.03, 0.03)))
    assert difference.high == pytest.approx(0.1 + np.hypot(0.04, 0.04))
    assert (difference.n, difference.method) == (400, "square and add 95%")


@given(first=counts, second=counts)
def test_difference_of_samples_with_wilson_intervals_is_newcombes(first, second):
    shares = (proportion(*pair, method=wilson) for pair in (first, second))
    difference = difference_of_samples(*shares)
    low, high = bounds(*first, *second)
    assert (max(difference.low, -1), min(difference.high, 1)) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("values", [[1, 0, 1, 1], [0.2, 0.3, -0.1, 0.4, 0.5], np.linspace(-1, 1.2, 40)])
def test_interval_p_value_of_a_t_interval_is_that_of_the_t_test(values):
    ours = interval_p_value(lambda level: clustered_mean(values, range(len(values)), confidence=level)[0])
    assert ours == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-6)


def test_interval_p_value_at_its_ends():
    assert interval_p_value(lambda _: Estimate(0.0, -1.0, 1.0, 5, "")) == 1
    assert interval_p_value(lambda _: Estimate(0.5, 0.4, 0.6, 5, "")) == pytest.approx(1e-12)
    assert interval_p_value(lambda _: Estimate(-0.5, -0.6, -0.4, 5, "")) == pytest.approx(1e-12)
