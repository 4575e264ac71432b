"""The difference of two proportions on images of their own: by hand, against statsmodels, and how often it covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from regrade.core import InputError, UndefinedError
from regrade.stats import independent_difference

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
def test_the_examples_of_the_paper(table, expected):
    assert bounds(*table) == pytest.approx(expected, abs=5e-5)


@given(first=counts, second=counts)
def test_as_in_statsmodels(first, second):
    theirs = confint_proportions_2indep(*first, *second, method="newcomb")
    assert bounds(*first, *second) == pytest.approx(theirs, abs=1e-12)


@given(first=counts, second=counts)
def test_it_holds_the_difference_and_turns_round(first, second):
    low, high = bounds(*first, *second)
    difference = first[0] / first[1] - second[0] / second[1]
    assert -1 <= low <= difference + 1e-12 and difference - 1e-12 <= high <= 1
    assert bounds(*second, *first) == pytest.approx((-high, -low), abs=1e-12)


def test_many_at_once():
    interval = independent_difference([56, 9], [70, 10], [48, 3], [80, 10])
    assert interval.low == pytest.approx([0.0524, 0.1705], abs=5e-5)


@pytest.mark.parametrize(("p", "q", "n", "m"), [(0.83, 0.72, 500, 100), (0.5, 0.5, 60, 40), (0.97, 0.93, 200, 80)])
def test_how_often_it_covers(p, q, n, m):
    # exactly: over all outcomes, weighted by how likely they are
    k, j = np.arange(n + 1), np.arange(m + 1)
    interval = independent_difference(k[:, None], n, j, m)
    covered = (interval.low <= p - q) & (p - q <= interval.high)
    weights = np.outer(stats.binom.pmf(k, n, p), stats.binom.pmf(j, m, q))
    assert 0.94 <= (weights * covered).sum() <= 0.965


def test_what_has_no_difference():
    with pytest.raises(UndefinedError):
        independent_difference(0, 0, 1, 2)
    with pytest.raises(InputError):
        independent_difference(3, 2, 1, 2)
