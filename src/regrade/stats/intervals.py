"""Intervals for proportions (Clopper-Pearson, Wilson, Jeffreys) and for quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.cores import elementwise
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.core.record import Record
from regrade.stats.beta_quantile import beta_quantile

_FEW = 20  # up to this many pairs, computing every quantile is faster than finding duplicates


@dataclass(frozen=True)
class Intervals:
    """Lower and upper bounds, in the shape of the input."""

    low: FloatArray
    high: FloatArray


IntervalMethod = Callable[..., Intervals]


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Intervals:
    """Return exact intervals for proportions; coverage is at least ``confidence``.

    ``successes`` and ``trials`` are counts of any shapes that broadcast; 0 trials raises. The lower bound is 0 without
    successes, the upper bound 1 without failures (Recht et al. 2019, Table 1).

    >>> interval = clopper_pearson(41_430, 50_000)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (0.8253, 0.8319)
    """
    k, n = _counts(successes, trials)
    if k.size <= _FEW:
        return exact_bounds(k, n, confidence=confidence)
    # Counts repeat in tables of models by slices, and the quantile is expensive: compute it once per distinct pair.
    sizes, size_index = np.unique(n, return_inverse=True)
    base = n.max(initial=0) + 1  # keys use the index of n, so that large counts do not overflow
    pairs, places = np.unique(k + base * size_index.reshape(k.shape), return_inverse=True)
    bounds = exact_bounds(pairs % base, sizes[pairs // base], confidence=confidence)
    return Intervals(bounds.low[places].reshape(k.shape), bounds.high[places].reshape(k.shape))


def exact_bounds(successes: FloatArray | IntArray, trials: FloatArray | IntArray, *, confidence: float) -> Intervals:
    """Return Clopper-Pearson bounds for counts that need not be integers (effective sample sizes)."""
    tail = tail_share(confidence)
    failures = trials - successes
    positive_successes = np.where(successes > 0, successes, 1)
    positive_failures = np.where(failures > 0, failures, 1)
    low = elementwise(beta_quantile, positive_successes, failures + 1, tail)
    high = elementwise(beta_quantile, successes + 1, positive_failures, 1 - tail)
    return Intervals(np.where(successes > 0, low, 0.0), np.where(failures > 0, high, 1.0))


def wilson(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Intervals:
    """Return Wilson's score intervals for proportions: short, with nominal coverage on average, within [0, 1]."""
    return wilson_bounds(*_counts(successes, trials), confidence=confidence)


def wilson_bounds(k: FloatArray | IntArray, n: FloatArray | IntArray, *, confidence: float) -> Intervals:
    """Return Wilson's bounds for ``k`` successes of ``n``, which need not be integers (effective sample sizes)."""
    z2 = normal_quantile(confidence) ** 2
    share = k / n
    center = (share + z2 / (2 * n)) / (1 + z2 / n)
    half_width = np.sqrt(z2 * (share * (1 - share) / n + z2 / n / n / 4)) / (1 + z2 / n)
    low = np.where(k == 0, 0.0, np.maximum(center - half_width, 0.0))
    high = np.where(k == n, 1.0, np.minimum(center + half_width, 1.0))
    return Intervals(low, high)


def jeffreys(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Intervals:
    """Return equal-tailed credible intervals for the Beta(1/2, 1/2) prior; the edges stay 0 and 1."""
    k, n = _counts(successes, trials)
    tail = tail_share(confidence)
    low = np.where(k == 0, 0.0, beta_quantile(k + 0.5, n - k + 0.5, tail))
    high = np.where(k == n, 1.0, beta_quantile(k + 0.5, n - k + 0.5, 1 - tail))
    return Intervals(low, high)


def proportions(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    confidence: float = 0.95,
    method: IntervalMethod = clopper_pearson,
) -> list[Estimate]:
    """Return proportions with intervals, one `Estimate` per pair of counts."""
    k, n = _counts(successes, trials)
    bounds = method(k, n, confidence=confidence)
    name = method_name(method.__name__.replace("_", "-"), confidence)
    rows = zip((k / n).flat, bounds.low.flat, bounds.high.flat, n.flat, strict=True)
    return [Estimate(float(v), float(lo), float(hi), int(size), name) for v, lo, hi, size in rows]


def proportion(
    successes: int, trials: int, *, confidence: float = 0.95, method: IntervalMethod = clopper_pearson
) -> Estimate:
    """Return one proportion with its interval."""
    return proportions([successes], [trials], confidence=confidence, method=method)[0]


def method_name(method: str, confidence: float) -> str:
    """Return the text for `Estimate.method`: the method and its confidence level."""
    return f"{method} {100 * confidence:g}%"


def tail_share(confidence: float) -> float:
    """Return the probability of one tail, (1 - confidence) / 2; a confidence outside (0, 1) raises."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}")
    return (1 - confidence) / 2


def normal_quantile(confidence: float) -> float:
    """Return z, the half-width of a normal interval in standard deviations."""
    return float(scipy.special.ndtri(1 - tail_share(confidence)))


def as_counts(*counts: ArrayLike) -> tuple[IntArray, ...]:
    """Return the counts broadcast against each other as int64; non-integers raise."""
    arrays: Sequence[np.ndarray] = [np.asarray(count) for count in counts]
    if len({array.shape for array in arrays}) > 1:
        arrays = np.broadcast_arrays(*arrays)
    if any(array.size and not np.issubdtype(array.dtype, np.integer) for array in arrays):
        raise InputError("counts must be integers")
    return tuple(array.astype(np.int64) for array in arrays)


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[IntArray, IntArray]:
    k, n = as_counts(successes, trials)
    if (n == 0).any():
        raise UndefinedError("a proportion needs at least 1 trial, got 0")
    if (k < 0).any() or (k > n).any():
        raise InputError("successes must lie between 0 and trials")
    return k, n


def quantile(values: ArrayLike, share: float, *, worth: float | None = None, confidence: float = 0.95) -> Estimate:
    """Return the ``share`` quantile of ``values`` (n,) with an interval between two order statistics.

    The order statistics come from the binomial distribution (Conover 1999, 3.2); coverage is at least ``confidence``
    for any distribution. Raises if there are too few values: at 95% a median needs 6 and a quartile 13. Clustered
    values that are ``worth`` fewer independent ones have the order statistics of so many, at their shares of all values
    (Woodruff 1952).

    >>> median = quantile(range(1, 21), 0.5)
    >>> median.value, median.low, median.high
    (10.5, 6.0, 15.0)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not 0 < share < 1:
        raise InputError(f"a quantile's share must lie between 0 and 1, got {share}")
    if ordered.ndim != 1 or not np.isfinite(ordered).all():
        raise InputError("a quantile needs one row of finite numbers")
    n, tail = len(ordered), tail_share(confidence)
    size = n if worth is None else int(worth + 1e-9)
    below = scipy.special.bdtr(np.arange(size), size, share)  # P(at most i values lie below the true quantile)
    low = int((below <= tail).sum()) - 1
    high = int(np.searchsorted(below, 1 - tail))
    if low < 0 or high >= size:
        units = "values" if worth is None else "independent values"
        raise UndefinedError(f"{size} {units} are too few for an interval of the {100 * share:g}% quantile")
    if size < n:
        low, high = (low + 1) * (n + 1) // (size + 1) - 1, -(-(high + 1) * (n + 1) // (size + 1)) - 1
    method = method_name("order statistics" if worth is None else "clustered order statistics", confidence)
    return Estimate(float(np.quantile(ordered, share)), float(ordered[low]), float(ordered[high]), n, method)


@dataclass(frozen=True, slots=True)
class Ratio(Record):
    """A ratio of two estimates with its interval.

    ``value`` is None if the denominator is 0. ``low`` or ``high`` is None if the interval is unbounded on that side,
    because the denominator is not significantly different from 0. ``n`` is the sample size and ``method`` the name of
    the interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return f"{_text(self.value, '–')} (no bounds)"
        return f"{_text(self.value, '–')} [{_text(self.low, '-∞')}, {_text(self.high, '∞')}]"


def _text(value: float | None, missing: str) -> str:
    return missing if value is None else f"{value:.2f}"
