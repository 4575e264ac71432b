"""Correlation with intervals: Pearson, Spearman, Kendall."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, normal_quantile


def pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Pearson's r of two samples (n,), with Fisher's interval; n >= 4, neither may be constant."""
    a, b = _samples(x, y)
    value = float(np.corrcoef(a, b)[0, 1])
    return _fisher(value, 1 / (len(a) - 3), len(a), "pearson, fisher z", confidence)


def spearman(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Spearman's rho of two samples (n,), ties at mean rank, with Bonett and Wright's interval; n >= 4."""
    from scipy import stats  # slow to import, and needed only here

    a, b = _samples(x, y)
    value = float(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1])
    n = len(a)
    variance, step = (1 + value**2 / 2) / (n - 3), 12 / (n * (n**2 - 1))
    return _fisher(value, variance, n, "spearman, bonett-wright", confidence, step=step)


def kendall(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Kendall's tau-b of two samples (n,) in O(n log n), with Fieller's interval; n >= 5.

    The interval is made for roughly normal samples and is too short for few pairs that agree closely: at 0.95 it
    covers about 0.90 with twelve pairs and a correlation near 0.9.
    """
    from scipy import stats  # as above

    a, b = _samples(x, y, least=5)
    value = float(stats.kendalltau(a, b).statistic)
    n = len(a)
    step = 4 / (n * (n - 1))
    return _fisher(value, 0.437 / (n - 4), n, "kendall tau-b, fieller", confidence, step=step)


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
    values = _rows(rows, least=4)
    n = values.shape[1]
    return _fisher_matrix(np.atleast_2d(np.corrcoef(values)), 1 / (n - 3), n, "pearson, fisher z", confidence)


def spearman_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Spearman's rho between all m rows of (m, n) at once, with Bonett and Wright's intervals; see `spearman`."""
    from scipy import stats  # as above

    ranks = stats.rankdata(_rows(rows, least=4), axis=1)
    n = ranks.shape[1]
    value = np.atleast_2d(np.corrcoef(ranks))
    variance = (1 + value**2 / 2) / (n - 3)
    return _fisher_matrix(value, variance, n, "spearman, bonett-wright", confidence, step=12 / (n * (n**2 - 1)))


def kendall_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Kendall's tau-b between all m rows of (m, n), each in O(n log n), with Fieller's intervals; see `kendall`."""
    from scipy import stats  # as above

    values = _rows(rows, least=5)
    models, n = values.shape
    value = np.eye(models)
    for i, j in zip(*np.triu_indices(models, k=1), strict=True):
        value[i, j] = value[j, i] = stats.kendalltau(values[i], values[j]).statistic
    return _fisher_matrix(value, 0.437 / (n - 4), n, "kendall tau-b, fieller", confidence, step=4 / (n * (n - 1)))


def _rows(rows: ArrayLike, *, least: int) -> FloatArray:
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"correlations between rows need an array (rows, n), got shape {values.shape}")
    for row in values:
        _samples(row, row, least=least)
    return values


def _fisher_matrix(
    value: FloatArray, variance: FloatArray | float, n: int, method: str, confidence: float, *, step: float = 0.0
) -> Correlations:
    """As `_fisher`, for a matrix."""
    value = np.clip(value, -1.0, 1.0)
    inside = np.clip(value, step / 2 - 1, 1 - step / 2)
    reach = normal_quantile(confidence) * np.sqrt(variance)
    with np.errstate(divide="ignore"):
        centre = np.arctanh(inside)
    low, high = np.minimum(np.tanh(centre - reach), value), np.maximum(np.tanh(centre + reach), value)
    for part in (value, low, high):
        np.fill_diagonal(part, 1.0)
    return Correlations(value, low, high, n, method_name(method, confidence))


def _samples(x: ArrayLike, y: ArrayLike, *, least: int = 4) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"a correlation needs two flat samples of one length, got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("a correlation needs finite numbers")
    if len(a) < least:
        raise UndefinedError(f"an interval for this correlation needs at least {least} pairs, got {len(a)}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UndefinedError("a correlation with a constant sample has no value")
    return a, b


def _fisher(value: float, variance: float, n: int, method: str, confidence: float, *, step: float = 0.0) -> Estimate:
    """The interval on the scale of arctanh.

    Ranks in perfect order are common in small samples and do not prove a perfect correlation: there
    the interval is taken half a ``step`` (the change by one swap of neighbours) inside. Without a
    step a perfect correlation has no interval but itself.
    """
    name = method_name(method, confidence)
    reach = normal_quantile(confidence) * math.sqrt(variance)
    value = min(max(value, -1.0), 1.0)
    inside = min(max(value, step / 2 - 1), 1 - step / 2)
    if abs(inside) == 1.0:
        return Estimate(value, value, value, n, name)
    centre = math.atanh(inside)
    low, high = math.tanh(centre - reach), math.tanh(centre + reach)
    return Estimate(value, min(low, value), max(high, value), n, name)
