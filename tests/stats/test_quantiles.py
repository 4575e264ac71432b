import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import quantile

quick = settings(deadline=None, max_examples=100, derandomize=True)


def test_the_median_of_twenty():
    # the 6th and the 15th of 20 values: P(6 <= Bin(20, 1/2) <= 14) = 0.9586 (tables of the sign test)
    estimate = quantile(np.arange(1, 21)[::-1], 0.5)
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (10.5, 6, 15, 20)
    assert estimate.method == "order statistics 95%"


@given(n=st.integers(1, 200), share=st.sampled_from([0.25, 0.5, 0.75, 0.9]), confidence=st.sampled_from([0.8, 0.95]))
@quick
def test_quantile_bounds_are_the_tightest_that_cover(n, share, confidence):
    lower, upper = stats.binom.ppf((1 - confidence) / 2, n, share), stats.binom.ppf((1 + confidence) / 2, n, share)
    if lower < 1 or upper >= n:
        with pytest.raises(UndefinedError, match="too few"):
            quantile(np.arange(1, n + 1), share, confidence=confidence)
        return
    estimate = quantile(np.arange(1, n + 1), share, confidence=confidence)
    tail = (1 - confidence) / 2
    below = stats.binom.cdf(estimate.low - 1, n, share)
    above = stats.binom.sf(estimate.high - 1, n, share)
    assert below <= tail and above <= tail + 1e-12
    assert stats.binom.cdf(estimate.low, n, share) > tail
    assert stats.binom.sf(estimate.high - 2, n, share) > tail


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_intervals_cover(share):
    rng = np.random.default_rng(0)
    truth = stats.lognorm(0.7).ppf(share)
    estimates = [quantile(rng.lognormal(0, 0.7, 40), share) for _ in range(2000)]
    cover = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert 0.945 <= cover <= 0.99


def test_quantile_raises_for_too_few_values():
    for n, share in ((5, 0.5), (12, 0.25), (12, 0.75)):
        with pytest.raises(UndefinedError, match=f"{n} values are too few"):
            quantile(np.arange(n), share)
        quantile(np.arange(n + 1), share)


@pytest.mark.parametrize(("values", "share"), [([1, 2], 0), ([1, 2], 1), ([1, np.nan], 0.5), ([[1, 2]], 0.5)])
def test_quantile_rejects_invalid_values(values, share):
    with pytest.raises(InputError):
        quantile(values, share)
