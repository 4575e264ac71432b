"""Tests of the correlation matrices against pairwise correlations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import kendall, kendall_matrix, pearson, pearson_matrix, spearman, spearman_matrix

KINDS = [(pearson, pearson_matrix), (spearman, spearman_matrix), (kendall, kendall_matrix)]


@pytest.mark.parametrize(("pairwise", "matrix"), KINDS)
@given(seed=st.integers(0, 2**32 - 1), models=st.integers(2, 5), n=st.integers(5, 30))
def test_matrix_matches_pairwise_correlations(pairwise, matrix, seed, models, n):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(models, n)) + rng.normal(size=n)
    rows[0] = np.arange(n) / n  # in an order of its own, without noise
    correlations = matrix(rows, confidence=0.9)
    for i in range(models):
        for j in range(models):
            if i == j:
                assert correlations.value[i, j] == correlations.low[i, j] == correlations.high[i, j] == 1
                continue
            alone = pairwise(rows[i], rows[j], confidence=0.9)
            assert (correlations.n, correlations.method) == (alone.n, alone.method)
            assert correlations.value[i, j] == pytest.approx(alone.value, abs=1e-12)
            assert correlations.low[i, j] == pytest.approx(alone.low, abs=1e-9)
            assert correlations.high[i, j] == pytest.approx(alone.high, abs=1e-9)


@pytest.mark.parametrize(("pairwise", "matrix"), KINDS)
def test_ranks_in_perfect_order_keep_their_interval(pairwise, matrix):
    rows = np.array([[1.0, 2, 3, 4, 5, 6], [1, 4, 9, 16, 25, 36]])
    correlations, alone = matrix(rows), pairwise(*rows)
    assert correlations.low[0, 1] == pytest.approx(alone.low)
    assert correlations.value[0, 1] <= correlations.high[0, 1] <= 1


@pytest.mark.parametrize(("_", "matrix"), KINDS)
def test_matrix_raises_if_undefined(_, matrix):
    with pytest.raises(UndefinedError, match="constant"):
        matrix([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]])
    with pytest.raises(UndefinedError, match="at least"):
        matrix([[1.0, 2, 3], [3, 1, 2]])
    with pytest.raises(InputError, match=r"\(rows, n\)"):
        matrix([1.0, 2, 3, 4, 5])
