"""Tests of range_ratio."""

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


def test_two_large_groups_match_fieller():
    """With one difference each the lower bound is the root of d1 - r d2 = c se, both shares independent."""
    groups = np.repeat([0, 1], 10_000)
    place = np.tile(np.arange(10_000), 2)
    rng = np.random.default_rng(0)
    first = (place < np.array([5_000, 8_000])[groups]).astype(float)
    second = (rng.permuted(np.stack([place[:10_000]] * 2), axis=1).ravel() < np.array([5_000, 6_000])[groups]).astype(
        float
    )
    ratio = range_ratio(group_shares(first, groups), group_shares(second, groups))
    c = float(ndtri(1 - 0.025 / 2))
    v1, v2 = (0.25 + 0.16) / 10_000, (0.25 + 0.24) / 10_000
    both = np.cov(first[groups == 0], second[groups == 0])[0, 1] + np.cov(first[groups == 1], second[groups == 1])[0, 1]
    v12 = both / 10_000
    roots = sorted(np.roots([0.01 - c * c * v2, -2 * (0.03 - c * c * v12), 0.09 - c * c * v1]).real)
    assert ratio.value == pytest.approx(3.0)
    assert (ratio.low, ratio.high) == pytest.approx(roots, rel=0.01)


def test_ratio_of_the_same_scores_is_near_1():
    """Both ranges use the same images, so their errors cancel."""
    first_shares, _ = two_scores((0.2, 0.8), (0.5, 0.5), (400, 400), np.random.default_rng(1))
    same = range_ratio(first_shares, first_shares)
    assert same.value == 1.0 and 0.97 < same.low <= 1.0 <= same.high < 1.03


def test_no_upper_bound_if_second_range_is_not_significant():
    rng = np.random.default_rng(2)
    ratio = range_ratio(*two_scores((0.3, 0.8), (0.5, 0.5), (200, 200), rng))
    assert ratio.high is None and ratio.low > 0


def test_equal_shares_have_no_ratio():
    flat = group_shares([1, 0, 1, 0], [0, 0, 1, 1])
    assert range_ratio(flat, flat) == Ratio(None, 0.0, None, 4, "simultaneous Fieller 95%")


def test_range_ratio_rejects_incompatible_shares():
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
    ratios = [range_ratio(*two_scores(first, second, sizes, rng, **options)) for _ in range(300)]
    assert sum(ratio.low is None or ratio.low > truth + 1e-9 for ratio in ratios) <= 16
    assert sum(ratio.high is not None and ratio.high < truth - 1e-9 for ratio in ratios) <= 16


def test_many_images_give_a_short_interval():
    rng = np.random.default_rng(4)
    ratio = range_ratio(*two_scores((0.4, 0.8, 0.6), (0.5, 0.58, 0.55), (40_000,) * 3, rng))
    assert 4 < ratio.low < ratio.value < ratio.high < 6.5


def test_ratio_as_text():
    assert str(Ratio(2.5, 2.0, 3.25, 9, "")) == "2.50 [2.00, 3.25]"
    assert str(Ratio(2.5, 2.0, None, 9, "")) == "2.50 [2.00, ∞]"
    assert str(Ratio(None, None, None, 9, "")) == "– (no bounds)"
    assert Ratio(2.5, 2.0, None, 9, "m").as_dict() == {"value": 2.5, "low": 2.0, "high": None, "n": 9, "method": "m"}
