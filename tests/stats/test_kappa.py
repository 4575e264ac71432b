"""Tests of intervals for kappa and covariance: by hand, against statsmodels, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from statsmodels.stats.inter_rater import cohens_kappa

from regrade.core import InputError, UndefinedError
from regrade.stats import covariance_interval, kappa_interval

TABLES = st.tuples(*[st.integers(0, 40)] * 4).filter(sum)


def added(confidence: float) -> float:
    """Images added to each cell."""
    return ndtri(0.5 + confidence / 2) ** 2 / 4


def test_kappa_by_hand():
    """40 both right, 10 and 5 only one, 45 neither, and one more image in each cell: 41, 11, 6, 46 of 104.

    With one more image a cell the confidence is that of two standard errors.
    """
    first, second = 52 / 104, 47 / 104
    kappa = 2 * (41 * 46 - 11 * 6) / 104**2 / (first * (1 - second) + second * (1 - first))
    assert kappa == pytest.approx(0.6731, abs=1e-4)
    # Fleiss, Cohen and Everitt 1969, equation 13
    chance = first * second + (1 - first) * (1 - second)
    alike = (41 * (1 - (first + second) * (1 - kappa)) ** 2 + 46 * (1 - (2 - first - second) * (1 - kappa)) ** 2) / 104
    unlike = (1 - kappa) ** 2 * (11 * (second + 1 - first) ** 2 + 6 * (first + 1 - second) ** 2) / 104
    error = np.sqrt((alike + unlike - (kappa - chance * (1 - kappa)) ** 2) / 104) / (1 - chance)
    bounds = kappa_interval(40, 10, 5, 100, confidence=0.9544997361036416)
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((kappa - 2 * error, kappa + 2 * error), abs=1e-9)


def test_covariance_by_hand():
    """Each is right on 2 of 4 images, both on 1, neither on 1: 2 of 8 in each cell, so the covariance is 0."""
    bounds = covariance_interval(1, 1, 1, 4, confidence=0.9544997361036416)
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((-2 * 0.25 / np.sqrt(8), 2 * 0.25 / np.sqrt(8)))


@given(TABLES, st.sampled_from([0.8, 0.95, 0.99]))
def test_kappa_against_statsmodels(table, confidence):
    both, only_first, only_second, neither = table
    more = added(confidence)
    oracle = cohens_kappa(np.array([[both + more, only_first + more], [only_second + more, neither + more]]))
    reach = ndtri(0.5 + confidence / 2) * oracle.std_kappa
    bounds = kappa_interval(both, only_first, only_second, sum(table), confidence=confidence)
    if both == sum(table) or neither == sum(table):
        assert np.isnan(bounds.low) and np.isnan(bounds.high)
        return
    assert float(bounds.low) == pytest.approx(max(oracle.kappa - reach, -1), abs=1e-9)
    assert float(bounds.high) == pytest.approx(min(oracle.kappa + reach, 1), abs=1e-9)


@given(TABLES)
def test_covariance_against_the_moments_of_the_images(table):
    both, only_first, only_second, neither = table
    more = added(0.95)
    weights = np.array([both, only_first, only_second, neither]) + more
    x, y = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    products = (x - np.average(x, weights=weights)) * (y - np.average(y, weights=weights))
    center = np.average(products, weights=weights)
    error = np.sqrt(np.average((products - center) ** 2, weights=weights) / weights.sum())
    bounds = covariance_interval(both, only_first, only_second, sum(table))
    reach = ndtri(0.975) * error
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((center - reach, center + reach), abs=1e-12)


@given(TABLES)
def test_intervals_are_symmetric_in_models_and_correctness(table):
    both, only_first, only_second, neither = table
    n = sum(table)
    for interval in (kappa_interval, covariance_interval):
        bounds = [
            (float(bounds.low), float(bounds.high))
            for bounds in (
                interval(both, only_first, only_second, n),
                interval(both, only_second, only_first, n),
                interval(neither, only_first, only_second, n),
            )
        ]
        assert bounds[1] == pytest.approx(bounds[0], nan_ok=True)
        assert bounds[2] == pytest.approx(bounds[0], nan_ok=True)


def test_intervals_broadcast():
    counts = np.array([[40, 30], [10, 2]])
    bounds = kappa_interval(counts, 5, 3, 100)
    for place in np.ndindex(2, 2):
        single = kappa_interval(int(counts[place]), 5, 3, 100)
        assert (bounds.low[place], bounds.high[place]) == (single.low, single.high)


def test_models_that_never_differ_are_not_certain_to_be_the_same():
    bounds = kappa_interval(15, 0, 0, 20)
    assert float(bounds.high) == 1
    assert 0.4 < float(bounds.low) < 0.9
    assert float(kappa_interval(1500, 0, 0, 2000).low) > 0.98


@pytest.mark.parametrize("images", [1, 2, 7, 20])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_contain_the_value(images, confidence):
    """Added images move the center away from an extreme value: the interval still contains it."""
    counts = [(a, b, c) for a in range(images + 1) for b in range(images + 1 - a) for c in range(images + 1 - a - b)]
    both, only_first, only_second = np.array(counts).T
    first, second = (both + only_first) / images, (both + only_second) / images
    covariance = both / images - first * second
    bounds = covariance_interval(both, only_first, only_second, images, confidence=confidence)
    assert ((bounds.low <= covariance) & (covariance <= bounds.high)).all()
    chance = first * (1 - second) + second * (1 - first)
    bounds = kappa_interval(both, only_first, only_second, images, confidence=confidence)
    defined = chance > 0
    assert (np.isnan(bounds.low) == ~defined).all()
    kappa = 2 * covariance[defined] / chance[defined]
    assert ((bounds.low[defined] - 1e-12 <= kappa) & (kappa <= bounds.high[defined] + 1e-12)).all()


@pytest.mark.parametrize("interval", [kappa_interval, covariance_interval])
def test_intervals_raise_for_invalid_counts(interval):
    with pytest.raises(UndefinedError, match="at least one image"):
        interval(0, 0, 0, 0)
    for counts in ((5, 3, 3, 10), (-1, 3, 3, 10), (1, 3, -1, 10)):
        with pytest.raises(InputError, match="counts of images"):
            interval(*counts)


TRUTHS = [
    (first, second, kappa)
    for first, second in ((0.5, 0.5), (0.7, 0.8), (0.9, 0.9), (0.97, 0.97), (0.95, 0.99))
    for kappa in (0.0, 0.2, 0.5, 0.7, 0.9)
]


@pytest.mark.parametrize(
    ("images", "least_kappa", "least_covariance"), [(20, 0.94, 0.90), (200, 0.94, 0.93), (5000, 0.94, 0.94)]
)
def test_intervals_cover(images, least_kappa, least_covariance):
    rng = np.random.default_rng(0)
    draws = 4000
    slack = 3 * np.sqrt(0.05 * 0.95 / draws)
    for first, second, kappa in TRUTHS:
        covariance = kappa * (first * (1 - second) + second * (1 - first)) / 2
        both = first * second + covariance
        cells = np.array([both, first - both, second - both, 1 - first - second + both])
        if (cells < 0).any():
            continue
        tables = rng.multinomial(images, cells, size=draws).T
        bounds = kappa_interval(*tables[:3], images)
        held = (bounds.low <= kappa + 1e-12) & (kappa - 1e-12 <= bounds.high) | np.isnan(bounds.low)
        assert held.mean() >= least_kappa - slack, (first, second, kappa)
        bounds = covariance_interval(*tables[:3], images)
        held = (bounds.low <= covariance + 1e-12) & (covariance - 1e-12 <= bounds.high)
        assert held.mean() >= least_covariance - slack, (first, second, kappa)
