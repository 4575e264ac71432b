"""Pearson, Spearman and Kendall correlations with intervals."""

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

_MIN_PAIRS = 4  # fewest pairs for an interval
_PEARSON, _SPEARMAN, _KENDALL = "pearson, fisher z", "spearman, normal pairs", "kendall tau-b, normal pairs"


def pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Pearson's r of two samples (n,), with Fisher's interval; n >= 4, neither sample constant.

    The interval of a perfect correlation has width 0.
    """
    a, b = checked_samples(x, y)
    value = _clipped(np.corrcoef(a, b)[0, 1])
    return _estimate(value, _fisher(value, len(a), confidence), len(a), _PEARSON, confidence)


def spearman(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Spearman's rho of two samples (n,), ties at mean rank, with a score interval for normal pairs; n >= 4.

    The interval inverts a test based on a beta distribution with the exact mean and variance for normal pairs (after
    any monotone transformation). Its coverage is nominal, and higher for few, closely agreeing pairs, because rho is
    discrete there. The interval of a perfect order has a positive width.
    """
    from scipy import stats  # slow to import

    a, b = checked_samples(x, y)
    value = _clipped(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1])
    return _estimate(value, _score(value, spearman_moments, len(a), confidence), len(a), _SPEARMAN, confidence)


def kendall(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Kendall's tau-b of two samples (n,) in O(n log n), with a score interval for normal pairs; n >= 4.

    The interval is constructed as in `spearman`. Many ties make it too short: with five levels in either sample its
    coverage is about 0.90 instead of 0.95.
    """
    from scipy import stats  # slow to import

    a, b = checked_samples(x, y)
    value = _clipped(stats.kendalltau(a, b).statistic)
    return _estimate(value, _score(value, kendall_moments, len(a), confidence), len(a), _KENDALL, confidence)


@dataclass(frozen=True)
class Correlations:
    """Correlations (m, m) between all rows with intervals; 1 on the diagonal."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    n: int
    method: str


def pearson_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Pearson's r between all m rows of (m, n), with Fisher's intervals; see `pearson`."""
    values = _rows(rows)
    n = values.shape[1]
    value = _clipped(np.atleast_2d(np.corrcoef(values)))
    return _matrix(value, _fisher(value, n, confidence), n, _PEARSON, confidence)


def spearman_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Spearman's rho between all m rows of (m, n), with score intervals; see `spearman`."""
    from scipy import stats  # slow to import

    ranks = stats.rankdata(_rows(rows), axis=1)
    n = ranks.shape[1]
    value = _clipped(np.atleast_2d(np.corrcoef(ranks)))
    return _matrix(value, _score(value, spearman_moments, n, confidence), n, _SPEARMAN, confidence)


def kendall_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Kendall's tau-b between all m rows of (m, n), each in O(n log n), with score intervals; see `kendall`."""
    from scipy import stats  # slow to import

    values = _rows(rows)
    models, n = values.shape
    value = np.eye(models)
    for i, j in zip(*np.triu_indices(models, k=1), strict=True):
        value[i, j] = value[j, i] = _clipped(stats.kendalltau(values[i], values[j]).statistic)
    return _matrix(value, _score(value, kendall_moments, n, confidence), n, _KENDALL, confidence)


def _rows(rows: ArrayLike) -> FloatArray:
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"correlations between rows need an array (rows, n), got shape {values.shape}")
    for row in values:
        checked_samples(row, row)
    return values


def checked_samples(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the samples as float arrays; raise if their correlation has no value or no interval."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"a correlation needs two samples of shape (n,), got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("a correlation needs finite numbers")
    if len(a) < _MIN_PAIRS:
        raise UndefinedError(f"an interval for a correlation needs at least {_MIN_PAIRS} pairs, got {len(a)}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UndefinedError("a correlation with a constant sample has no value")
    return a, b


def _clipped(value: ArrayLike) -> FloatArray:
    """Clip rounding errors beyond a perfect correlation."""
    return np.clip(np.asarray(value, dtype=np.float64), -1.0, 1.0)


def _fisher(value: FloatArray, n: int, confidence: float) -> Intervals:
    half_width = normal_quantile(confidence) / np.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        center = np.arctanh(value)
    return Intervals(np.tanh(center - half_width), np.tanh(center + half_width))


def _score(value: FloatArray, moments: Callable[[int], RankMoments], n: int, confidence: float) -> Intervals:
    """The true values that are compatible with ``value``; the upper bound is the lower one of the negated value."""
    truth, highest = _highest_allowed(moments, n, confidence)

    def least(values: FloatArray) -> FloatArray:
        return np.minimum(np.interp(values, highest, truth), values)

    return Intervals(least(value), -least(-value))


@lru_cache(maxsize=64)
def _highest_allowed(moments: Callable[[int], RankMoments], n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """True values from -1 to 1, and the highest sample value compatible with each.

    Sample values are discrete: each is spread over the step around it to fit a beta distribution, and is compatible
    if any part of the step is.
    """
    moment = moments(n)
    half = moment.step / 2
    width = 2 + 2 * half
    share, variance = (moment.mean + 1 + half) / width, (moment.variance + half**2 / 3) / width**2
    size = share * (1 - share) / variance - 1
    upper = special.betaincinv(share * size, (1 - share) * size, 1 - tail_share(confidence))
    return moment.truth, np.maximum.accumulate(width * upper - 1)


def _estimate(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Estimate:
    return Estimate(float(value), float(bounds.low), float(bounds.high), n, method_name(method, confidence))


def _matrix(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Correlations:
    for part in (value, bounds.low, bounds.high):
        np.fill_diagonal(part, 1.0)
    return Correlations(value, bounds.low, bounds.high, n, method_name(method, confidence))
