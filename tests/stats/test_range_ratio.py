"""Ratios of ranges: how many times as far apart the groups are for one score as for another."""

import numpy as np
import pytest
from scipy.special import ndtri

from regrade.core import InputError, UndefinedError
from regrade.stats import Ratio, group_shares, range_ratio


def two_scores(first, second, sizes, rng, *, shared=0.5, household=1):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    clusters = np.arange(len(groups)) // household
    common = rng.normal(size=clusters.max() + 1)[clusters]
    scores = [
        np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=len(groups)) < ndtri(np.asarray(truth))[groups]
        for truth in (first, second)
    ]
    return [group_shares(right, groups, clusters if household > 1 else None) for right in scores]


def test_two_large_groups_are_fieller_s():
    """With one difference each the lower bound is the root of d1 - r d2 = c se, both shares independent."""
    groups = np.repeat([0, 1], 10_000)
    place = np.tile(np.arange(10_000), 2)
    rng = np.random.default_rng(0)
    first = (place < np.array([5_000, 8_000])[groups]).astype(float)
    second = (rng.permuted(np.stack([place[:10_000]] * 2), axis=1).ravel() < np.array([5_000, 6_000])[groups]).astype(
        float
    )
    found = range_ratio(group_shares(first, groups), group_shares(second, groups))
    c = float(ndtri(1 - 0.025 / 2))
    v1, v2 = (0.25 + 0.16) / 10_000, (0.25 + 0.24) / 10_000
    both = np.cov(first[groups == 0], second[groups == 0])[0, 1] + np.cov(first[groups == 1], second[groups == 1])[0, 1]
    v12 = both / 10_000
    roots = sorted(np.roots([0.01 - c * c * v2, -2 * (0.03 - c * c * v12), 0.09 - c * c * v1]).real)
    assert found.value == pytest.approx(3.0)
    assert (found.low, found.high) == pytest.approx(roots, rel=0.01)


def test_the_same_score_twice_is_1_almost_for_sure():
    """The same images are behind both ranges, so that their errors cancel."""
    one, _ = two_scores((0.2, 0.8), (0.5, 0.5), (400, 400), np.random.default_rng(1))
    same = range_ratio(one, one)
    assert same.value == 1.0 and 0.97 < same.low <= 1.0 <= same.high < 1.03


def test_no_upper_bound_where_the_second_may_be_nothing():
    rng = np.random.default_rng(2)
    found = range_ratio(*two_scores((0.3, 0.8), (0.5, 0.5), (200, 200), rng))
    assert found.high is None and found.low > 0


def test_equal_shares_have_no_ratio():
    flat = group_shares([1, 0, 1, 0], [0, 0, 1, 1])
    assert range_ratio(flat, flat) == Ratio(None, 0.0, None, 4, "simultaneous Fieller 95%")


def test_what_cannot_be_held_against_each_other():
    with pytest.raises(InputError, match="the same groups"):
        range_ratio(group_shares([1, 0], [0, 1]), group_shares([1, 0, 1], [0, 1, 1]))
    with pytest.raises(UndefinedError, match="at least two groups"):
        range_ratio(group_shares([1, 0], [0, 0]), group_shares([1, 0], [0, 0]))


@pytest.mark.parametrize(
    ("first", "second", "sizes", "options"),
    [
        ((0.5, 0.8), (0.5, 0.6), (400, 400), {}),
        ((0.6, 0.8), (0.5, 0.6), (400, 400), {"shared": 0.9}),
        ((0.5, 0.9, 0.7), (0.5, 0.6, 0.55), (900, 900, 900), {}),
        ((0.5, 0.9), (0.5, 0.6), (40, 6), {}),
        ((0.5, 0.5, 0.5), (0.5, 0.7, 0.6), (200, 200, 200), {}),
        ((0.5, 0.8, 0.6), (0.5, 0.6, 0.55), (400, 400, 400), {"household": 10}),
    ],
)
def test_it_covers(first, second, sizes, options):
    """Each bound may miss in 2.5 of 100: 300 draws show at most 16 misses in all but one case of 1,000."""
    rng = np.random.default_rng(3)
    truth = np.ptp(first) / np.ptp(second)
    found = [range_ratio(*two_scores(first, second, sizes, rng, **options)) for _ in range(300)]
    assert sum(one.low is None or one.low > truth + 1e-9 for one in found) <= 16
    assert sum(one.high is not None and one.high < truth - 1e-9 for one in found) <= 16


def test_enough_images_settle_it():
    rng = np.random.default_rng(4)
    found = range_ratio(*two_scores((0.4, 0.8, 0.6), (0.5, 0.58, 0.55), (40_000,) * 3, rng))
    assert 4 < found.low < found.value < found.high < 6.5


def test_in_words():
    assert str(Ratio(2.5, 2.0, 3.25, 9, "")) == "2.50 [2.00, 3.25]"
    assert str(Ratio(2.5, 2.0, None, 9, "")) == "2.50 [2.00, ∞]"
    assert str(Ratio(None, None, None, 9, "")) == "– (no bounds)"
    assert Ratio(2.5, 2.0, None, 9, "m").as_dict() == {"value": 2.5, "low": 2.0, "high": None, "n": 9, "method": "m"}
