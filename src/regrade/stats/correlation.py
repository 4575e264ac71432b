"""Correlation with intervals: Pearson, Spearman, Kendall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, method_name, normal_quantile, tail_share
from regrade.stats.rank_moments import RankMoments, kendall_moments, spearman_moments

_LEAST = 4  # pairs that have an interval
_PEARSON, _SPEARMAN, _KENDALL = "pearson, fisher z", "spearman, normal pairs", "kendall tau-b, normal pairs"


def pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Pearson's r of two samples (n,), with Fisher's interval; n >= 4, neither may be constant.

    A perfect correlation has no interval but itself.
    """
    a, b = checked_samples(x, y)
    value = _between(np.corrcoef(a, b)[0, 1])
    return _estimate(value, _fisher(value, len(a), confidence), len(a), _PEARSON, confidence)


def spearman(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Spearman's rho of two samples (n,), ties at mean rank, with a score interval for normal pairs; n >= 4.

    The interval holds every true value under which the sample's is not too unusual, by a beta distribution with the
    exact mean and variance for normal pairs (on any rising scale). It covers as promised, and more where few
    pairs agree closely, since few orders are left there. Perfect order has an interval too.
    """
    from scipy import stats  # slow to import, and needed only here

    a, b = checked_samples(x, y)
    value = _between(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1])
    return _estimate(value, _score(value, spearman_moments, len(a), confidence), len(a), _SPEARMAN, confidence)


def kendall(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Kendall's tau-b of two samples (n,) in O(n log n), with a score interval for normal pairs; n >= 4.

    The interval is made as that of `spearman`. Many ties make it too short: with five levels in either sample it
    covers about 0.90 instead of 0.95.
    """
    from scipy import stats  # as above

    a, b = checked_samples(x, y)
    value = _between(stats.kendalltau(a, b).statistic)
    return _estimate(value, _score(value, kendall_moments, len(a), confidence), len(a), _KENDALL, confidence)


@dataclass(frozen=True)
class Correlations:
    """Correlations (m, m) between all rows, with their intervals; 1 on the diagonal."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    n: int
    method: str


def pearson_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Pearson's r between all m rows of (m, n) at once, with Fisher's intervals; see `pearson`."""
    values = _rows(rows)
    n = values.shape[1]
    value = _between(np.atleast_2d(np.corrcoef(values)))
    return _matrix(value, _fisher(value, n, confidence), n, _PEARSON, confidence)


def spearman_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Spearman's rho between all m rows of (m, n) at once, with score intervals; see `spearman`."""
    from scipy import stats  # as above

    ranks = stats.rankdata(_rows(rows), axis=1)
    n = ranks.shape[1]
    value = _between(np.atleast_2d(np.corrcoef(ranks)))
    return _matrix(value, _score(value, spearman_moments, n, confidence), n, _SPEARMAN, confidence)


def kendall_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Kendall's tau-b between all m rows of (m, n), each in O(n log n), with score intervals; see `kendall`."""
    from scipy import stats  # as above

    values = _rows(rows)
    models, n = values.shape
    value = np.eye(models)
    for i, j in zip(*np.triu_indices(models, k=1), strict=True):
        value[i, j] = value[j, i] = _between(stats.kendalltau(values[i], values[j]).statistic)
    return _matrix(value, _score(value, kendall_moments, n, confidence), n, _KENDALL, confidence)


def _rows(rows: ArrayLike) -> FloatArray:
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"correlations between rows need an array (rows, n), got shape {values.shape}")
    for row in values:
        checked_samples(row, row)
    return values


def checked_samples(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Two samples that have a correlation with an interval; others raise."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"a correlation needs two flat samples of one length, got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("a correlation needs finite numbers")
    if len(a) < _LEAST:
        raise UndefinedError(f"an interval for a correlation needs at least {_LEAST} pairs, got {len(a)}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UndefinedError("a correlation with a constant sample has no value")
    return a, b


def _between(value: ArrayLike) -> FloatArray:
    """Without what rounding adds beyond a perfect correlation."""
    return np.clip(np.asarray(value, dtype=np.float64), -1.0, 1.0)


def _fisher(value: FloatArray, n: int, confidence: float) -> Intervals:
    reach = normal_quantile(confidence) / np.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        center = np.arctanh(value)
    return Intervals(np.tanh(center - reach), np.tanh(center + reach))


def _score(value: FloatArray, moments: Callable[[int], RankMoments], n: int, confidence: float) -> Intervals:
    """Every true value between the least that still allows ``value`` and, seen in the mirror, the greatest."""
    truth, highest = _highest_allowed(moments, n, confidence)

    def least(values: FloatArray) -> FloatArray:
        return np.minimum(np.interp(values, highest, truth), values)

    return Intervals(least(value), -least(-value))


@lru_cache(maxsize=64)
def _highest_allowed(moments: Callable[[int], RankMoments], n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """True values from -1 to 1, and the highest sample value that each still allows.

    The sample's values are lumps. Each is spread over the step around it, to fit a beta distribution, and is allowed
    if any part of it is.
    """
    found = moments(n)
    half = found.step / 2
    width = 2 + 2 * half
    share, variance = (found.mean + 1 + half) / width, (found.variance + half**2 / 3) / width**2
    size = share * (1 - share) / variance - 1
    upper = special.betaincinv(share * size, (1 - share) * size, 1 - tail_share(confidence))
    return found.truth, np.maximum.accumulate(width * upper - 1)


def _estimate(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Estimate:
    return Estimate(float(value), float(bounds.low), float(bounds.high), n, method_name(method, confidence))


def _matrix(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Correlations:
    for part in (value, bounds.low, bounds.high):
        np.fill_diagonal(part, 1.0)
    return Correlations(value, bounds.low, bounds.high, n, method_name(method, confidence))
