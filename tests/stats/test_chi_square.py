import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import chi_square

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
def test_is_blind_to_transposition_and_grows_with_the_counts(table, factor):
    test = chi_square(table)
    assert chi_square(table.T).statistic == pytest.approx(test.statistic, rel=1e-9, abs=1e-9)
    assert chi_square(factor * table).statistic == pytest.approx(factor * test.statistic, rel=1e-9, abs=1e-8)


def test_rejects_as_often_as_it_should():
    rng = np.random.default_rng(0)
    right = rng.binomial([300, 200], 0.6, size=(5000, 2))
    p = np.array([chi_square([row, [300, 200] - row]).p_value for row in right])
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 5000))


def test_warns_below_five_expected_and_not_at_five():
    assert "4.4" in chi_square([[243, 54, 52, 31], [35, 5, 8, 5]]).warning
    at_five = chi_square([[5, 5], [5, 5]])
    assert (at_five.smallest_expected, at_five.warning) == (5, "")


def test_proportional_rows_have_no_evidence():
    test = chi_square([[10, 20, 30], [100, 200, 300]])
    assert test.statistic == pytest.approx(0, abs=1e-12)
    assert test.p_value == pytest.approx(1)


@pytest.mark.parametrize("table", [[[0, 0], [3, 4]], [[0, 3], [0, 4]], [[0, 0], [0, 0]]])
def test_an_empty_row_or_column_raises(table):
    with pytest.raises(UndefinedError, match="empty"):
        chi_square(table)


@pytest.mark.parametrize("table", [[1, 2], [[1, 2]], [[1], [2]], [[1, -2], [3, 4]], [[1, np.nan], [3, 4]], 5, []])
def test_what_is_no_table_of_counts_raises(table):
    with pytest.raises(InputError, match="table of counts"):
        chi_square(table)
