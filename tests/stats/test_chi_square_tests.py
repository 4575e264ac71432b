import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import chi_square, paired_chi_square

quick = settings(deadline=None, max_examples=100, derandomize=True)
tables = arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 5)), elements=st.integers(1, 10**6))


def test_by_hand():
    # rows 50 and 50, columns 30 and 70: expected 15, 35; each cell is off by 5: 2 * 25/15 + 2 * 25/35
    test = chi_square([[20, 30], [10, 40]])
    assert test.statistic == pytest.approx(100 / 21)
    assert test.p_value == pytest.approx(float(stats.norm.sf(np.sqrt(100 / 21)) * 2))
    assert (test.freedom, test.n, test.smallest_expected, test.warning) == (1, 100, 15, "")


@given(table=tables)
@quick
def test_agrees_with_scipy_without_yates(table):
    expected = stats.chi2_contingency(table, correction=False)
    test = chi_square(table)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert test.freedom == expected.dof
    assert test.smallest_expected == pytest.approx(expected.expected_freq.min())
    assert test.n == table.sum()


@given(table=tables, factor=st.integers(2, 50))
@quick
def test_chi_square_is_invariant_to_transposition_and_scales_with_counts(table, factor):
    test = chi_square(table)
    assert chi_square(table.T).statistic == pytest.approx(test.statistic, rel=1e-9, abs=1e-9)
    assert chi_square(factor * table).statistic == pytest.approx(factor * test.statistic, rel=1e-9, abs=1e-8)


def test_chi_square_rejection_rate_is_nominal():
    rng = np.random.default_rng(0)
    right = rng.binomial([300, 200], 0.6, size=(5000, 2))
    p = np.array([chi_square([row, [300, 200] - row]).p_value for row in right])
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 5000))


def test_warns_below_five_expected_and_not_at_five():
    assert "4.4" in chi_square([[243, 54, 52, 31], [35, 5, 8, 5]]).warning
    at_five = chi_square([[5, 5], [5, 5]])
    assert (at_five.smallest_expected, at_five.warning) == (5, "")


def test_proportional_rows_have_statistic_0():
    test = chi_square([[10, 20, 30], [100, 200, 300]])
    assert test.statistic == pytest.approx(0, abs=1e-12)
    assert test.p_value == pytest.approx(1)


@pytest.mark.parametrize("table", [[[0, 0], [3, 4]], [[0, 3], [0, 4]], [[0, 0], [0, 0]]])
def test_an_empty_row_or_column_raises(table):
    with pytest.raises(UndefinedError, match="empty"):
        chi_square(table)


@pytest.mark.parametrize("table", [[1, 2], [[1, 2]], [[1], [2]], [[1, -2], [3, 4]], [[1, np.nan], [3, 4]], 5, []])
def test_chi_square_rejects_invalid_tables(table):
    with pytest.raises(InputError, match="table of counts"):
        chi_square(table)


class TestPaired:
    def test_by_hand(self):
        # 3 of 4 against 1 of 3 of kind 1; images 0 and 1 are in both samples
        first, second = np.array([1, 1, 0, 1, -1]), np.array([1, 0, -1, -1, 0])
        parts = np.array([1 / 16 - 2 / 9, 1 / 16 + 1 / 9, -3 / 16, 1 / 16, 1 / 9])
        test = paired_chi_square(first, second)
        assert test.statistic == pytest.approx((3 / 4 - 1 / 3) ** 2 / (parts**2).sum())
        assert test.p_value == pytest.approx(stats.f.sf(test.statistic * 4 / 5, 1, 4))
        assert (test.freedom, test.images, test.shared) == ((1, 4), 5, 2)

    def test_agrees_with_bhapkar_on_complete_samples(self):
        rng = np.random.default_rng(3)
        first = rng.integers(0, 3, 400)
        second = np.where(rng.random(400) < 0.5, first, rng.integers(0, 3, 400))
        counts = np.zeros((3, 3))
        np.add.at(counts, (first, second), 1)
        oracle = SquareTable(counts, shift_zeros=False).homogeneity(method="bhapkar")
        assert paired_chi_square(first, second).statistic == pytest.approx(oracle.statistic, rel=1e-9)

    @quick
    @given(arrays(np.int64, (2, 40), elements=st.integers(-1, 3)))
    def test_order_of_samples_images_and_kinds_does_not_matter(self, samples):
        try:
            test = paired_chi_square(*samples)
        except UndefinedError:
            return
        renamed = np.array([2, 0, 3, 1, -1])[samples[:, ::-1]]
        again = paired_chi_square(*renamed[::-1])
        assert again.statistic == pytest.approx(test.statistic, rel=1e-6, abs=1e-9)
        assert 0 <= test.p_value <= 1

    def test_keeps_its_level_on_shared_images_and_finds_more_than_pearson(self):
        rng = np.random.default_rng(0)
        equal, different, pearson = [], [], []
        for _ in range(400):
            kinds = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
            redrawn = np.where(rng.random(200) < 0.8, kinds, rng.choice(3, 200, p=[0.6, 0.3, 0.1]))
            first, second = (np.where(rng.random(200) < 0.7, sample, -1) for sample in (kinds, redrawn))
            equal.append(paired_chi_square(first, second).p_value < 0.05)
            moved = np.where((second == 0) & (rng.random(200) < 0.2), 1, second)
            different.append(paired_chi_square(first, moved).p_value < 0.05)
            table = [np.bincount(sample[sample >= 0], minlength=3) for sample in (first, moved)]
            pearson.append(chi_square(table).p_value < 0.05)
        assert np.mean(equal) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
        assert np.mean(different) > np.mean(pearson) + 0.1

    def test_paired_chi_square_raises_if_undefined(self):
        with pytest.raises(UndefinedError, match="at least two categories"):
            paired_chi_square(np.array([0, 0, -1]), np.array([0, -1, 0]))
        with pytest.raises(UndefinedError, match="do not vary"):
            paired_chi_square(np.array([0, 0, -1]), np.array([-1, -1, 1]))
        with pytest.raises(InputError, match="the same images"):
            paired_chi_square(np.array([0, 1]), np.array([0, 1, 1]))
