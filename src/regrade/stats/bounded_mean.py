"""The mean of numbers that have bounds, such as losses: they are often skewed, and a few large ones decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share
from regrade.stats.means import Spread, korn_graubard

MANY = 1000
"""From so many values on, their variance tells how far the mean may be off."""

_GOLDEN = (np.sqrt(5) - 1) / 2  # its multiples spread neighbors far apart
_BOLDEST = 0.75  # share of the capital that a bet may put at risk
_STEPS = 40  # halvings in the search for a bound


def bounded_mean(values: ArrayLike, *, largest: float, confidence: float = 0.95) -> Estimate:
    """The mean of ``values`` (n,) between 0 and ``largest``.

    From `MANY` values on, the interval is that of Clopper and Pearson at the sample size that the variance is worth.
    Fewer values may all be small by chance where the mean rests on rare large ones, and their variance does not show
    it. For them the interval is the hedged betting interval of Waudby-Smith and Ramdas (2024), which covers for every
    distribution and is wider. It takes the values in an order that parts neighbors, as test sets are often sorted.

    >>> print(bounded_mean(np.repeat([0.0, 1.0], 2000), largest=2.0).method)
    bounded exact 95%
    """
    shares = np.asarray(values, dtype=np.float64) / largest
    if shares.ndim != 1:
        raise InputError(f"a mean needs values (n,), got {shares.shape}")
    if not len(shares):
        raise UndefinedError("a mean of no values has no value")
    if not (shares.min() >= 0 and shares.max() <= 1):  # not a number fails both
        raise InputError(f"values must be between 0 and {largest:g}")
    estimate = _by_variance(shares, confidence) if len(shares) >= MANY else _by_betting(shares, confidence)
    value, low, high = (largest * share for share in (estimate.value, estimate.low, estimate.high))
    return Estimate(value, low, high, estimate.n, estimate.method)


def _by_variance(shares: FloatArray, confidence: float) -> Estimate:
    n = len(shares)
    variance = shares.var(ddof=1) / n
    spread = Spread(np.array([shares.mean()]), np.array([variance]), np.array([n - 1.0]), float(n), n)
    return korn_graubard(spread, "bounded exact", confidence)[0]


def _by_betting(shares: FloatArray, confidence: float) -> Estimate:
    """The means against which no bettor would have gained so much that it is rarer than the level."""
    shuffled = shares[np.argsort(np.arange(len(shares)) * _GOLDEN % 1)]
    level = 2 * tail_share(confidence)
    bets = _bets(shuffled, level)
    limit = np.log(2 / level)  # half of the capital bets on a larger mean, half on a smaller one
    mean = float(shares.mean())
    low = _search(lambda m: _gain(shuffled - m, bets, m) <= limit, rejected=0.0, kept=mean)
    high = _search(lambda m: _gain(m - shuffled, bets, 1 - m) <= limit, rejected=1.0, kept=mean)
    return Estimate(mean, min(low, mean), max(high, mean), len(shares), method_name("hedged betting", confidence))


def _bets(shuffled: FloatArray, level: float) -> FloatArray:
    """Shape (n,): how much to bet on each value, from the mean and the variance of those before it."""
    n = len(shuffled)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(shuffled)) / (counts + 1)
    variances = (0.25 + np.cumsum((shuffled - means) ** 2)) / (counts + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.sqrt(2 * np.log(2 / level) / (n * before))


def _gain(distances: FloatArray, bets: FloatArray, room: float) -> float:
    """The log of what bets on positive distances make of a capital of 1; ``room`` is how far a distance may go down."""
    boldest = _BOLDEST / room if room > 0 else np.inf
    return float(np.log1p(np.minimum(bets, boldest) * distances).sum())


def _search(is_kept: Callable[[float], bool], *, rejected: float, kept: float) -> float:
    """The mean nearest to ``rejected`` that is kept, to within rounding."""
    if is_kept(rejected):
        return rejected
    for _ in range(_STEPS):
        middle = (rejected + kept) / 2
        rejected, kept = (rejected, middle) if is_kept(middle) else (middle, kept)
    return kept
