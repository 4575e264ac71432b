"""Tests of SampledShares: against statsmodels and the counts, clusters of one image, and what is undefined."""

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from regrade.core import UndefinedError
from regrade.stats import (
    SampledShares,
    best_share,
    clustered_best_share,
    effective_images,
    proportions,
    wilson,
    worst_share,
)

HOMES = np.repeat(np.arange(60), 1 + np.arange(60) % 5)
RIGHT = np.random.default_rng(1).random((3, 60))[:, HOMES] < np.array([[0.6], [0.8], [0.95]])


def sampled(right, clusters):
    effective = tuple(effective_images(row, clusters) for row in right)
    return SampledShares(right.sum(axis=1), np.full(len(right), right.shape[1]), effective)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_exact_bounds_are_those_of_korn_and_graubard(confidence):
    for row, estimate in zip(RIGHT, sampled(RIGHT, HOMES).estimates(confidence), strict=True):
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(korn_graubard(row, HOMES, confidence))
        assert estimate.method == f"clustered korn-graubard {100 * confidence:g}%"


def test_wilson_bounds_by_hand():
    """Half of 100 households of two are right: worth 99 images, less (t of 199 / t of 99) squared for few clusters."""
    shares = sampled(np.tile([1, 1, 0, 0], 50)[None], np.arange(200) // 2)
    n, z = 99 * (t.ppf(0.975, 199) / t.ppf(0.975, 99)) ** 2, norm.ppf(0.975)
    half_width = z * np.sqrt(0.25 / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    bounds = shares.wilson(0.95)
    assert (bounds.low[0], bounds.high[0]) == pytest.approx((0.5 - half_width, 0.5 + half_width))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(30, 60), st.floats(0.5, 0.99))
def test_clusters_of_one_image_change_nothing(counts, images, confidence):
    right = np.arange(images) < np.array(counts)[:, None]
    single = sampled(right, np.arange(images))
    for kind in ("exact", "wilson"):
        bounds, plain = (
            getattr(part, kind)(confidence) for part in (single, SampledShares(single.right, single.images))
        )
        assert (bounds.low == plain.low).all() and (bounds.high == plain.high).all()


def test_independent_shares_are_those_of_counts():
    plain = SampledShares(np.array([7, 10, 0]), np.array([10, 10, 4]))
    assert plain.estimates(0.9) == proportions([7, 10, 0], [10, 10, 4], confidence=0.9)
    assert plain.best(0.9) == best_share([7, 10, 0], [10, 10, 4], confidence=0.9)
    assert (plain.wilson(0.9).low == wilson([7, 10, 0], [10, 10, 4], confidence=0.9).low).all()


def test_best_is_that_over_clusters():
    ours, expected = sampled(RIGHT, HOMES).best(0.95), clustered_best_share(RIGHT, HOMES)
    assert (ours.value, ours.low, ours.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert ours.method == expected.method
    assert sampled(RIGHT[:1], HOMES).best(0.95) == sampled(RIGHT[:1], HOMES).estimates(0.95)[0]


def test_worst_mirrors_the_best_of_the_failures():
    for clusters in (HOMES, None):
        ours, failures = (
            sampled(part, HOMES)
            if clusters is not None
            else SampledShares(part.sum(axis=1), np.full(3, RIGHT.shape[1]))
            for part in (RIGHT, ~RIGHT)
        )
        worst, best = ours.worst(0.95), failures.best(0.95)
        assert (worst.value, worst.low, worst.high) == pytest.approx((1 - best.value, 1 - best.high, 1 - best.low))
        assert worst.value == RIGHT[0].mean() and worst.method == best.method.replace("best", "worst")
    assert ours.worst(0.95) == worst_share(RIGHT.sum(axis=1), RIGHT.shape[1])


def test_all_right_is_as_certain_as_the_number_of_clusters():
    assert effective_images(np.ones(40), np.arange(40) // 4).size == 10


def test_single_cluster_says_nothing_of_others():
    with pytest.raises(UndefinedError, match="at least two"):
        effective_images([1, 0, 1], [7, 7, 7])
