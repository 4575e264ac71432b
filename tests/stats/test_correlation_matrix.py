"""Correlations between many rows at once are those of every pair alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import kendall, kendall_matrix, pearson, pearson_matrix, spearman, spearman_matrix

KINDS = [(pearson, pearson_matrix), (spearman, spearman_matrix), (kendall, kendall_matrix)]


@pytest.mark.parametrize(("one", "many"), KINDS)
@given(seed=st.integers(0, 2**32 - 1), models=st.integers(2, 5), n=st.integers(5, 30))
def test_every_pair_as_by_itself(one, many, seed, models, n):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(models, n)) + rng.normal(size=n)
    rows[0] = np.arange(n) / n  # in an order of its own, without noise
    found = many(rows, confidence=0.9)
    for i in range(models):
        for j in range(models):
            if i == j:
                assert found.value[i, j] == found.low[i, j] == found.high[i, j] == 1
                continue
            alone = one(rows[i], rows[j], confidence=0.9)
            assert (found.n, found.method) == (alone.n, alone.method)
            assert found.value[i, j] == pytest.approx(alone.value, abs=1e-12)
            assert found.low[i, j] == pytest.approx(alone.low, abs=1e-9)
            assert found.high[i, j] == pytest.approx(alone.high, abs=1e-9)


@pytest.mark.parametrize(("one", "many"), KINDS)
def test_ranks_in_perfect_order_keep_their_interval(one, many):
    rows = np.array([[1.0, 2, 3, 4, 5, 6], [1, 4, 9, 16, 25, 36]])
    found, alone = many(rows), one(*rows)
    assert found.low[0, 1] == pytest.approx(alone.low)
    assert found.value[0, 1] <= found.high[0, 1] <= 1


@pytest.mark.parametrize(("_", "many"), KINDS)
def test_what_has_no_correlation_raises(_, many):
    with pytest.raises(UndefinedError, match="constant"):
        many([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]])
    with pytest.raises(UndefinedError, match="at least"):
        many([[1.0, 2, 3], [3, 1, 2]])
    with pytest.raises(InputError, match=r"\(rows, n\)"):
        many([1.0, 2, 3, 4, 5])
