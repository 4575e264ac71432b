"""Tests of group shares: differences, range, noise and the smallest share."""

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.special import ndtri
from statsmodels.stats.proportion import confint_proportions_2indep

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    Ratio,
    extremes_differ,
    group_shares,
    independent_difference,
    proportion,
    range_ratio,
    share_difference,
    share_noise,
    share_range,
    smallest_share,
)


def counted(rights, sizes):
    """Shares of groups from counts of right images and sizes."""
    scores = np.concatenate([np.arange(size) < right for right, size in zip(rights, sizes, strict=True)])
    return group_shares(scores, np.repeat(np.arange(len(sizes)), sizes))


def drawn(truth, sizes, rng):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return group_shares(rng.random(len(groups)) < np.asarray(truth)[groups], groups)


class TestShares:
    def test_by_hand(self):
        shares = counted((3, 10), (4, 40))
        assert shares.values.tolist() == [0.75, 0.25]
        assert shares.sizes.tolist() == [4, 40]
        assert shares.effective_sizes == pytest.approx([4, 40])
        assert shares.correlations.tolist() == [[1, 0], [0, 1]]

    @given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), min_size=1, max_size=40))
    def test_values_are_those_of_a_plain_loop(self, images):
        names = sorted({name for _, name in images})
        shares = group_shares([right for right, _ in images], [names.index(name) for _, name in images])
        for name, value, size in zip(names, shares.values, shares.sizes, strict=True):
            rights = [right for right, own in images if own == name]
            assert (value, size) == (pytest.approx(sum(rights) / len(rights)), len(rights))

    def test_equal_shares_of_different_sizes_have_no_range(self):
        assert share_range(counted((1, 2), (3, 6))).value == 0.0

    def test_intervals_are_clopper_pearson(self):
        shares = counted((3, 0, 7), (4, 12, 7))
        bounds = shares.exact(0.9)
        for i, (right, size) in enumerate(((3, 4), (0, 12), (7, 7))):
            expected = proportion(right, size, confidence=0.9)
            assert (bounds.low[i], bounds.high[i]) == pytest.approx((expected.low, expected.high))

    def test_clustered_intervals_are_korn_graubard(self):
        rng = np.random.default_rng(0)
        groups = np.repeat([0, 1], [200, 90])
        clusters = np.arange(290) // 7 + 1000 * groups
        right = rng.random(290) < 0.6
        bounds = group_shares(right, groups, clusters).exact(0.95)
        for group in (0, 1):
            inside = groups == group
            expected = korn_graubard(right[inside], clusters[inside])
            assert (bounds.low[group], bounds.high[group]) == pytest.approx(expected[1:])

    def test_mean_scores_have_larger_effective_sizes(self):
        """Constant scores have no variance, and their effective size is the number of images."""
        varied = group_shares([0.25, 0.75] * 50, [0] * 100)
        assert varied.effective_sizes == pytest.approx([100 * 0.25 / 0.0625])
        assert group_shares([0.5] * 100, [0] * 100).effective_sizes == pytest.approx([100])

    def test_single_cluster_has_interval_0_to_1(self):
        bounds = group_shares([1, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 3, 4]).exact(0.95)
        assert (bounds.low[0], bounds.high[0]) == (0.0, 1.0)
        assert 0 < bounds.low[1] < bounds.high[1] < 1

    def test_shared_clusters_correlate_errors(self):
        clusters = np.tile(np.arange(50), 2)
        right = np.tile(np.arange(50) % 2 == 0, 2)
        shares = group_shares(right, np.repeat([0, 1], 50), clusters)
        assert shares.correlations == pytest.approx(np.ones((2, 2)))
        assert share_difference(shares, 0, 1).high == pytest.approx(0.0, abs=1e-6)

    def test_share_of_0_or_1_is_correlated_with_itself(self):
        shares = group_shares([1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])
        assert shares.correlations.tolist() == np.eye(3).tolist()

    @pytest.mark.parametrize(
        ("scores", "groups", "error"),
        [([1], [0, 1], InputError), ([], [], InputError), ([2.0], [0], InputError), ([1, 0], [0, 2], UndefinedError)],
    )
    def test_group_shares_raises_if_undefined(self, scores, groups, error):
        with pytest.raises(error):
            group_shares(scores, groups)


class TestDifference:
    def test_share_difference_is_newcombe(self):
        shares = counted((56, 48), (70, 80))
        estimate, expected = share_difference(shares, 0, 1), independent_difference(56, 70, 48, 80)
        assert (estimate.value, estimate.n) == (pytest.approx(0.2), 150)
        assert (estimate.low, estimate.high) == pytest.approx((float(expected.low), float(expected.high)))
        assert (estimate.low, estimate.high) == pytest.approx(
            confint_proportions_2indep(56, 70, 48, 80, method="newcomb", compare="diff"), abs=1e-6
        )

    def test_share_difference_is_antisymmetric(self):
        shares = counted((9, 48), (10, 80))
        forward, back = share_difference(shares, 0, 1), share_difference(shares, 1, 0)
        assert (back.value, back.low, back.high) == pytest.approx((-forward.value, -forward.high, -forward.low))

    def test_clusters_widen_share_difference(self):
        rng = np.random.default_rng(1)
        groups = np.repeat([0, 1], 200)
        clusters = np.arange(400) // 10
        right = rng.random(40)[clusters] < 0.6
        plain, clustered = group_shares(right, groups), group_shares(right, groups, clusters)
        assert share_difference(clustered, 0, 1).half_width > 2 * share_difference(plain, 0, 1).half_width


class TestRange:
    def test_two_groups(self):
        """Each bound is Newcombe's; the lower one for two differences, this one and its reverse."""
        estimate = share_range(counted((56, 48), (70, 80)))
        assert estimate.value == pytest.approx(0.2)
        assert estimate.high == pytest.approx(float(independent_difference(56, 70, 48, 80).high))
        assert estimate.low == pytest.approx(float(independent_difference(56, 70, 48, 80, confidence=0.975).low))

    def test_range_lower_bound_is_0_if_not_significant(self):
        estimate = share_range(counted((6, 5, 7), (10, 10, 10)))
        assert (estimate.value, estimate.low) == (pytest.approx(0.2), 0.0)
        assert not extremes_differ(counted((6, 5, 7), (10, 10, 10)))

    def test_significant_range_does_not_imply_extremes_differ(self):
        shares = counted((500, 700, 10), (1000, 1000, 11))
        assert share_range(shares).low > 0.1
        assert not extremes_differ(counted((500, 700, 1), (1000, 1000, 1)))
        assert extremes_differ(counted((500, 700), (1000, 1000)))

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), min_size=2, max_size=7))
    def test_range_contains_value_and_ignores_group_order(self, groups):
        groups = [(min(right, size), size) for right, size in groups]
        in_order = share_range(counted(*zip(*groups, strict=True)))
        reordered = share_range(counted(*zip(*groups[::-1], strict=True)))
        assert (
            0 <= in_order.low <= in_order.value + 1e-12
            and in_order.value <= in_order.high + 1e-12
            and in_order.high <= 1
        )
        assert (in_order.low, in_order.value, in_order.high) == pytest.approx(
            (reordered.low, reordered.value, reordered.high)
        )

    def test_additional_group_does_not_raise_lower_bound(self):
        few, more = counted((60, 80), (100, 100)), counted((60, 80, 70), (100, 100, 100))
        assert share_range(more).low < share_range(few).low
        assert share_range(more).high == pytest.approx(share_range(few).high)

    def test_range_of_one_group_raises(self):
        with pytest.raises(UndefinedError, match="at least two groups"):
            share_range(counted((3,), (4,)))

    @pytest.mark.parametrize(
        ("truth", "sizes"),
        [
            ((0.6,) * 6, (300,) * 6),
            ((0.6,) * 6, (300, 300, 300, 300, 300, 10)),
            ((0.5, 0.55, 0.6, 0.62, 0.64, 0.7), (300,) * 6),
            ((0.9, 0.9, 0.9, 0.9, 0.7), (300, 300, 300, 300, 12)),
            ((0.5, 0.7), (100, 100)),
            ((0.98, 0.99, 0.97), (80, 80, 80)),
            ((0.6, 0.6, 0.5), (200, 200, 1)),
        ],
    )
    def test_it_covers(self, truth, sizes):
        """Each bound misses in 2.5 of 100 at the most: of 600 draws more than 25 in one case of 1,000."""
        rng = np.random.default_rng(5)
        ranges = [share_range(drawn(truth, sizes, rng)) for _ in range(600)]
        apart = np.ptp(truth)
        assert sum(estimate.low > apart + 1e-12 for estimate in ranges) <= 25
        assert sum(estimate.high < apart - 1e-12 for estimate in ranges) <= 25

    def test_it_covers_with_households(self):
        rng = np.random.default_rng(6)
        sizes, each = (60, 50, 40, 12), 6
        groups = np.repeat(np.arange(4), np.array(sizes) * each)
        clusters = np.repeat(np.arange(sum(sizes)), each)
        misses = 0
        for _ in range(400):
            hard = rng.normal(size=sum(sizes))[clusters] * 0.7 + rng.normal(size=len(groups)) * np.sqrt(0.51)
            right = hard < scipy_stats.norm.ppf([0.5, 0.6, 0.65, 0.6])[groups]
            estimate = share_range(group_shares(right, groups, clusters))
            misses += not estimate.low <= 0.15 <= estimate.high
        assert misses <= 33  # 20 expected of exact intervals

    def test_range_without_clusters_undercovers(self):
        rng = np.random.default_rng(7)
        groups, clusters = np.repeat([0, 1, 2], 300), np.arange(900) // 15
        shown = [share_range(group_shares(rng.random(60)[clusters] < 0.6, groups)).low > 0 for _ in range(100)]
        assert np.mean(shown) > 0.4


class TestNoise:
    def test_two_equal_groups(self):
        """The mean distance of two normals of deviation s is 2 s / sqrt(pi)."""
        shares = counted((50, 50), (100, 100))
        assert share_noise(shares) == pytest.approx(2 * 0.05 / np.sqrt(np.pi), rel=1e-3)

    def test_six_groups_match_range_tables(self):
        """The mean range of six standard normals is 2.5344."""
        assert share_noise(counted((500,) * 6, (1000,) * 6)) == pytest.approx(2.5344 * np.sqrt(0.25 / 1000), rel=1e-3)

    @pytest.mark.parametrize(("truth", "exact"), [((0.6,) * 6, True), ((0.4, 0.5, 0.6, 0.6, 0.7, 0.8), False)])
    def test_noise_is_the_largest_bias_of_the_range(self, truth, exact):
        rng = np.random.default_rng(8)
        samples = [drawn(truth, (200,) * 6, rng) for _ in range(400)]
        bias = np.mean([np.ptp(shares.values) for shares in samples]) - np.ptp(truth)
        noise = np.mean([share_noise(shares) for shares in samples])
        assert bias == pytest.approx(noise, rel=0.05) if exact else bias < 0.4 * noise


class TestSmallest:
    def test_by_hand(self):
        estimate = smallest_share(counted((3, 8), (10, 10)))
        assert (estimate.value, estimate.n) == (pytest.approx(0.3), 10)
        assert estimate.low == pytest.approx(proportion(3, 10).low)
        assert estimate.high == pytest.approx(proportion(3, 10, confidence=0.975).high)

    @pytest.mark.parametrize(
        ("truth", "sizes"), [((0.6,) * 6, (300,) * 6), ((0.6, 0.7, 0.5), (200, 200, 10)), ((0.3, 0.9), (50, 50))]
    )
    def test_it_covers(self, truth, sizes):
        rng = np.random.default_rng(9)
        estimates = [smallest_share(drawn(truth, sizes, rng)) for _ in range(500)]
        assert sum(not estimate.low <= min(truth) <= estimate.high for estimate in estimates) <= 40


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
