"""Shares of groups: how far apart they are, and how low the lowest is, whichever groups these are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import confint_proportions_2indep

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    clustered_proportion,
    extremes_apart,
    group_shares,
    independent_difference,
    proportion,
    share_difference,
    share_noise,
    share_range,
    smallest_share,
)


def counted(rights, sizes):
    """Shares of groups in which so many of so many images are right."""
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
        assert shares.worth == pytest.approx([4, 40])
        assert shares.correlations.tolist() == [[1, 0], [0, 1]]

    def test_intervals_are_clopper_pearson_s(self):
        shares = counted((3, 0, 7), (4, 12, 7))
        bounds = shares.exact(0.9)
        for i, (right, size) in enumerate(((3, 4), (0, 12), (7, 7))):
            one = proportion(right, size, confidence=0.9)
            assert (bounds.low[i], bounds.high[i]) == pytest.approx((one.low, one.high))

    def test_intervals_of_clusters_are_those_of_korn_and_graubard(self):
        rng = np.random.default_rng(0)
        groups = np.repeat([0, 1], [200, 90])
        clusters = np.arange(290) // 7 + 1000 * groups
        right = rng.random(290) < 0.6
        bounds = group_shares(right, groups, clusters).exact(0.95)
        for group in (0, 1):
            inside = groups == group
            one = clustered_proportion(right[inside], clusters[inside])[0]
            assert (bounds.low[group], bounds.high[group]) == pytest.approx((one.low, one.high))

    def test_a_mean_of_several_models_is_surer_than_its_images(self):
        """Half-right everywhere does not vary at all, and is taken for as many images as there are."""
        varied = group_shares([0.25, 0.75] * 50, [0] * 100)
        assert varied.worth == pytest.approx([100 * 0.25 / 0.0625])
        assert group_shares([0.5] * 100, [0] * 100).worth == pytest.approx([100])

    def test_a_single_cluster_says_nothing(self):
        bounds = group_shares([1, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 3, 4]).exact(0.95)
        assert (bounds.low[0], bounds.high[0]) == (0.0, 1.0)
        assert 0 < bounds.low[1] < bounds.high[1] < 1

    def test_clusters_in_two_groups_make_their_errors_go_together(self):
        clusters = np.tile(np.arange(50), 2)
        right = np.tile(np.arange(50) % 2 == 0, 2)
        shares = group_shares(right, np.repeat([0, 1], 50), clusters)
        assert shares.correlations == pytest.approx(np.ones((2, 2)))
        assert share_difference(shares, 0, 1).high == pytest.approx(0.0, abs=1e-6)

    @pytest.mark.parametrize(
        ("scores", "groups", "error"),
        [([1], [0, 1], InputError), ([], [], InputError), ([2.0], [0], InputError), ([1, 0], [0, 2], UndefinedError)],
    )
    def test_what_has_no_shares(self, scores, groups, error):
        with pytest.raises(error):
            group_shares(scores, groups)


class TestDifference:
    def test_it_is_newcombe_s(self):
        shares = counted((56, 48), (70, 80))
        one, other = share_difference(shares, 0, 1), independent_difference(56, 70, 48, 80)
        assert (one.value, one.n) == (pytest.approx(0.2), 150)
        assert (one.low, one.high) == pytest.approx((float(other.low), float(other.high)))
        assert (one.low, one.high) == pytest.approx(
            confint_proportions_2indep(56, 70, 48, 80, method="newcomb", compare="diff"), abs=1e-6
        )

    def test_it_turns_round(self):
        shares = counted((9, 48), (10, 80))
        one, back = share_difference(shares, 0, 1), share_difference(shares, 1, 0)
        assert (back.value, back.low, back.high) == pytest.approx((-one.value, -one.high, -one.low))

    def test_clusters_widen_it(self):
        rng = np.random.default_rng(1)
        groups = np.repeat([0, 1], 200)
        clusters = np.arange(400) // 10
        right = rng.random(40)[clusters] < 0.6
        plain, clustered = group_shares(right, groups), group_shares(right, groups, clusters)
        assert share_difference(clustered, 0, 1).half_width > 2 * share_difference(plain, 0, 1).half_width


class TestRange:
    def test_two_groups(self):
        """Each bound is Newcombe's; the lower one for two differences, this one and its reverse."""
        found = share_range(counted((56, 48), (70, 80)))
        assert found.value == pytest.approx(0.2)
        assert found.high == pytest.approx(float(independent_difference(56, 70, 48, 80).high))
        assert found.low == pytest.approx(float(independent_difference(56, 70, 48, 80, confidence=0.975).low))

    def test_nothing_shown_begins_at_0(self):
        found = share_range(counted((6, 5, 7), (10, 10, 10)))
        assert (found.value, found.low) == (pytest.approx(0.2), 0.0)
        assert not extremes_apart(counted((6, 5, 7), (10, 10, 10)))

    def test_that_some_groups_differ_does_not_say_which_are_the_extremes(self):
        shares = counted((500, 700, 10), (1000, 1000, 11))
        assert share_range(shares).low > 0.1
        assert not extremes_apart(counted((500, 700, 1), (1000, 1000, 1)))
        assert extremes_apart(counted((500, 700), (1000, 1000)))

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), min_size=2, max_size=7))
    def test_it_holds_its_value_and_knows_no_order(self, groups):
        groups = [(min(right, size), size) for right, size in groups]
        one = share_range(counted(*zip(*groups, strict=True)))
        other = share_range(counted(*zip(*groups[::-1], strict=True)))
        assert 0 <= one.low <= one.value + 1e-12 and one.value <= one.high + 1e-12 and one.high <= 1
        assert (one.low, one.value, one.high) == pytest.approx((other.low, other.value, other.high))

    def test_a_group_more_makes_the_lower_bound_no_surer(self):
        few, more = counted((60, 80), (100, 100)), counted((60, 80, 70), (100, 100, 100))
        assert share_range(more).low < share_range(few).low
        assert share_range(more).high == pytest.approx(share_range(few).high)

    def test_one_group_has_none(self):
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
        found = [share_range(drawn(truth, sizes, rng)) for _ in range(600)]
        apart = np.ptp(truth)
        assert sum(one.low > apart + 1e-12 for one in found) <= 25
        assert sum(one.high < apart - 1e-12 for one in found) <= 25

    def test_it_covers_with_households(self):
        rng = np.random.default_rng(6)
        sizes, each = (60, 50, 40, 12), 6
        groups = np.repeat(np.arange(4), np.array(sizes) * each)
        clusters = np.repeat(np.arange(sum(sizes)), each)
        misses = 0
        for _ in range(400):
            hard = rng.normal(size=sum(sizes))[clusters] * 0.7 + rng.normal(size=len(groups)) * np.sqrt(0.51)
            right = hard < scipy_stats.norm.ppf([0.5, 0.6, 0.65, 0.6])[groups]
            found = share_range(group_shares(right, groups, clusters))
            misses += not found.low <= 0.15 <= found.high
        assert misses <= 33  # 20 expected of exact intervals

    def test_without_knowing_households_it_would_not(self):
        rng = np.random.default_rng(7)
        groups, clusters = np.repeat([0, 1, 2], 300), np.arange(900) // 15
        shown = [share_range(group_shares(rng.random(60)[clusters] < 0.6, groups)).low > 0 for _ in range(100)]
        assert np.mean(shown) > 0.4


class TestNoise:
    def test_two_equal_groups(self):
        """The mean distance of two normals of deviation s is 2 s / sqrt(pi)."""
        shares = counted((50, 50), (100, 100))
        assert share_noise(shares) == pytest.approx(2 * 0.05 / np.sqrt(np.pi), rel=1e-3)

    def test_six_groups_as_in_tables_of_the_range(self):
        """The mean range of six standard normals is 2.5344."""
        assert share_noise(counted((500,) * 6, (1000,) * 6)) == pytest.approx(2.5344 * np.sqrt(0.25 / 1000), rel=1e-3)

    @pytest.mark.parametrize(("truth", "exact"), [((0.6,) * 6, True), ((0.4, 0.5, 0.6, 0.6, 0.7, 0.8), False)])
    def test_it_is_the_bias_of_equal_groups_and_more_than_that_of_others(self, truth, exact):
        rng = np.random.default_rng(8)
        found = [drawn(truth, (200,) * 6, rng) for _ in range(400)]
        bias = np.mean([np.ptp(one.values) for one in found]) - np.ptp(truth)
        noise = np.mean([share_noise(one) for one in found])
        assert bias == pytest.approx(noise, rel=0.05) if exact else bias < 0.4 * noise


class TestSmallest:
    def test_by_hand(self):
        found = smallest_share(counted((3, 8), (10, 10)))
        assert (found.value, found.n) == (pytest.approx(0.3), 10)
        assert found.low == pytest.approx(proportion(3, 10).low)
        assert found.high == pytest.approx(proportion(3, 10, confidence=0.975).high)

    @pytest.mark.parametrize(
        ("truth", "sizes"), [((0.6,) * 6, (300,) * 6), ((0.6, 0.7, 0.5), (200, 200, 10)), ((0.3, 0.9), (50, 50))]
    )
    def test_it_covers(self, truth, sizes):
        rng = np.random.default_rng(9)
        found = [smallest_share(drawn(truth, sizes, rng)) for _ in range(500)]
        assert sum(not one.low <= min(truth) <= one.high for one in found) <= 40
