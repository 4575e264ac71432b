"""Tests of inference after selection: by hand, against scipy, and coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import (
    Intervals,
    align_with_test,
    below_others_p_values,
    best_share,
    bonferroni_confidence,
    clopper_pearson,
    lower_share_p_values,
    lowest_candidates,
    mark_simultaneous,
    proportion,
    significantly_below,
    worst_share,
)

quick = settings(deadline=None, max_examples=60, derandomize=True)
counts = st.lists(st.integers(0, 50), min_size=1, max_size=12)


class TestBestShare:
    def test_by_hand(self):
        """The lower bound at 1 - 0.05 / 3, the upper at 0.95, both of 820 of 1,000."""
        best = best_share([800, 820, 790], [1000, 1000, 1000])
        assert best.value == 0.82 and best.n == 1000 and best.method == "clopper-pearson for the best of 3 95%"
        assert best.low == pytest.approx(stats.beta.ppf(0.025 / 3, 820, 181))
        assert best.high == pytest.approx(stats.beta.ppf(0.975, 821, 180))

    def test_one_model_is_not_selected(self):
        assert best_share([7], [10]) == proportion(7, 10)

    def test_unequal_trials_correct_both_bounds(self):
        best, strict = best_share([9, 80], [10, 100]), clopper_pearson(9, 10, confidence=0.975)
        assert (best.low, best.high) == (float(strict.low), float(strict.high))

    @given(right=counts)
    @quick
    def test_it_contains_the_plain_interval_and_mirrors_the_worst(self, right):
        best, plain = best_share(right, 50), proportion(max(right), 50)
        assert best.low <= plain.low and best.high == plain.high
        worst = worst_share([50 - count for count in right], 50)
        assert (worst.value, worst.low, worst.high) == pytest.approx((1 - best.value, 1 - best.high, 1 - best.low))

    @pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 0.2), (20, 0.7, 1.0)])
    def test_all_wrong_and_all_right_keep_a_width(self, count, low, high):
        """20 images, 2 models: the corrected bound is 1 - 0.0125 ** (1 / 20) = 0.197 away, the plain one 0.168."""
        best = best_share([count, count], 20)
        assert low <= best.low < best.high <= high

    @pytest.mark.parametrize(("models", "images"), [(8, 100), (67, 100), (67, 1000), (67, 10_000)])
    def test_coverage_among_equal_models(self, models, images):
        """The interval holds for the model that is picked; Clopper-Pearson alone does not."""
        right = np.random.default_rng(0).binomial(images, 0.7, (1000, models))
        best = [best_share(row, images) for row in right]
        alone = clopper_pearson(right.max(axis=1), images)
        assert np.mean([e.low <= 0.7 <= e.high for e in best]) > 0.96
        assert np.mean((alone.low <= 0.7) & (alone.high >= 0.7)) < 0.9

    def test_coverage_among_unequal_models(self):
        truth = np.linspace(0.5, 0.8, 20)
        right = np.random.default_rng(1).binomial(200, truth, (1000, 20))
        picked = truth[right.argmax(axis=1)]
        best = [best_share(row, 200) for row in right]
        assert np.mean([e.low <= t <= e.high for e, t in zip(best, picked, strict=True)]) > 0.96
        assert np.mean([e.low <= truth.max() <= e.high for e in best]) > 0.96, "also the best in truth"


class TestFisher:
    def test_by_hand(self):
        """1 of 6 against 5 of 6: (6 * 6 + 1 * 1) / C(12, 6) = 37 / 924."""
        assert lower_share_p_values([1, 5], [6, 6]) == pytest.approx(np.array([[1, 37 / 924], [1, 1]]))

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(any), min_size=2, max_size=5))
    @quick
    def test_agrees_with_scipy(self, tables):
        right, wrong = np.array(tables).T
        p_values = lower_share_p_values(right, right + wrong)
        for i, j in np.argwhere(np.less.outer(right / (right + wrong), right / (right + wrong))):
            table = [[right[i], wrong[i]], [right[j], wrong[j]]]
            assert p_values[i, j] == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue, rel=1e-9)

    def test_equal_and_higher_shares_are_not_lower(self):
        assert (lower_share_p_values([5, 5, 5], [10, 10, 10]) == 1).all()

    def test_one_image_is_not_significant(self):
        assert lower_share_p_values([0, 900], [1, 1000])[0, 1] == pytest.approx(101 / 1001)

    @given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(1, 20), st.integers(2, 5))
    @quick
    def test_copies_count_once(self, right, wrong, more_right, more_wrong, copies):
        right, trials = np.array([right, more_right]), np.array([right + wrong, more_right + more_wrong])
        once, several = lower_share_p_values(right, trials), lower_share_p_values(right * copies, trials * copies)
        assert lower_share_p_values(right * copies, trials * copies, [copies] * 2) == pytest.approx(once)
        assert (several <= once + 1e-9).all() and lower_share_p_values(right, trials, [1, 1]) == pytest.approx(once)

    def test_rounding_brings_shares_together(self):
        """7 of 10 and 9 of 10 at effects of 2.5 and 2: at most 3 of 4, and 4 of 5, of the independent images."""
        p_values = lower_share_p_values([7, 9], [10, 10], [2.5, 2.0])
        assert p_values == pytest.approx(lower_share_p_values([3, 4], [4, 5]))
        assert (lower_share_p_values([1, 2], [10, 10], [20.0, 1.0]) == 1).all()

    @pytest.mark.parametrize("effects", [[0.9, 1.0], [1.0], [np.nan, 1.0]])
    def test_wrong_effects_raise(self, effects):
        with pytest.raises(InputError, match="one design effect of at least 1 per share"):
            lower_share_p_values([7, 9], [10, 10], effects)

    def test_no_image_raises(self):
        with pytest.raises(UndefinedError):
            lower_share_p_values([0, 1], [0, 2])


class TestPaired:
    def test_by_hand(self):
        """Differences 1, 0, 1, 0 with 1 and -1 more: mean 2 / 6, mean square 4 / 6, so t = 1/3 / sqrt(5/9 / 6)."""
        p_values = below_others_p_values([[0, 0, 0, 0], [1, 0, 1, 0]], 0)
        assert p_values == pytest.approx([1.0, stats.t.cdf(-(1 / 3) / np.sqrt(5 / 54), 3)])

    def test_many_images_agree_with_scipy(self):
        rng = np.random.default_rng(0)
        values = rng.random((2, 5000)) + np.array([[0.0], [0.01]])
        expected = stats.ttest_rel(values[0], values[1], alternative="less").pvalue
        assert below_others_p_values(values, 0)[1] == pytest.approx(expected, rel=0.02)

    def test_equal_rows_are_not_below_each_other(self):
        assert (below_others_p_values(np.ones((3, 5)), 1) == 1).all()

    def test_few_equal_images_are_not_certain(self):
        p_value = below_others_p_values([[0.0] * 3, [1.0] * 3], 0)[1]
        assert 0.01 < p_value < 0.125, "no surer than three tosses"

    def test_one_image_is_not_significant(self):
        assert below_others_p_values([[0.0], [1.0]], 0)[1] > 0.2

    def test_no_images_raise(self):
        with pytest.raises(InputError):
            below_others_p_values(np.ones((2, 0)), 0)


class TestLowest:
    def test_significantly_below_compares_with_every_group(self):
        assert significantly_below(np.array([1.0, 0.01, 0.016]), level=0.05).tolist() == [False, True, True]
        assert significantly_below(np.array([1.0, 0.01, 0.02]), level=0.05).tolist() == [False, True, False]

    def test_lowest_candidates_have_no_group_below(self):
        p_values = np.ones((3, 3))
        p_values[0, 2] = 0.008
        assert lowest_candidates(p_values, level=0.05).tolist() == [True, True, False]
        p_values[0, 2] = 0.009  # of six ordered pairs: 0.009 * 6 > 0.05
        assert lowest_candidates(p_values, level=0.05).all()

    def test_single_group_is_a_candidate(self):
        assert lowest_candidates(np.ones((1, 1)), level=0.05).tolist() == [True]

    def test_equal_shares_are_rarely_told_apart(self):
        rng = np.random.default_rng(3)
        runs = [lower_share_p_values(rng.binomial(100, 0.8, 10), np.full(10, 100)) for _ in range(200)]
        assert sum(not lowest_candidates(p_values, level=0.05).all() for p_values in runs) <= 18

    def test_the_lowest_is_found_where_it_is_far_below(self):
        p_values = lower_share_p_values([50, 80, 82, 79], [100] * 4)
        assert significantly_below(p_values[0], level=0.05)[1:].all()
        assert lowest_candidates(p_values, level=0.05).tolist() == [True, False, False, False]


class TestSimultaneous:
    def test_bonferroni_confidence_by_hand(self):
        assert bonferroni_confidence(10, 0.9) == pytest.approx(0.99)
        assert bonferroni_confidence(1, 0.9) == bonferroni_confidence(0, 0.9) == pytest.approx(0.9)

    def test_mark_simultaneous_names_the_comparisons(self):
        single = proportion(5, 10, confidence=0.99)
        assert mark_simultaneous(single, 5).method == "clopper-pearson, 5 together 95%"
        assert mark_simultaneous(single, 1) is single

    def test_align_with_test_excludes_zero_where_a_pair_differs(self):
        bounds = Intervals(np.array([-0.1, -0.1, 0.1, -0.3]), np.array([0.3, 0.1, 0.3, -0.1]))
        aligned = align_with_test(bounds, np.array([0.1, -0.01, 0.2, -0.2]), np.array([True, True, False, False]))
        assert (aligned.low > 0).tolist() == [True, False, False, False]
        assert (aligned.high < 0).tolist() == [False, True, False, False]
        assert aligned.low[2] == aligned.high[3] == 0
