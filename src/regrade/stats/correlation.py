"""Correlation with intervals: Pearson, Spearman, Kendall."""

from __future__ import annotations

import math

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
