"""Corrections of many p-values, and of many intervals, at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, normal_quantile

_BLOCK = 1 << 18  # p-values at a time, where there may be millions


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's adjusted p-values: the chance of any false finding stays below the level.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p, order = _ordered(p_values)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _restored(stepped, order)


def holm_threshold(p_values: FloatArray, level: float) -> float:
    """The largest of p-values (p,) that Holm's correction leaves at or below a level; -1 where there is none.

    A p-value is at or below it exactly where `holm` makes it at most the level. The array is sorted in place.

    >>> holm_threshold(np.array([0.01, 0.06, 0.02]), 0.05)
    0.02
    """
    p_values.sort()
    count = len(p_values)
    for start in range(0, count, _BLOCK):
        block = p_values[start : start + _BLOCK]
        above = np.flatnonzero(block * np.arange(count - start, count - start - len(block), -1) > level)
        if above.size:
            last = start + int(above[0]) - 1
            return float(p_values[last]) if last >= 0 else -1.0
    return float(p_values[-1]) if count else -1.0


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's adjusted p-values: the expected share of false findings stays below the level.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    p, order = _ordered(p_values)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def confidence_of_each(comparisons: int, confidence: float = 0.95) -> float:
    """The confidence at which each of so many intervals is made so that all hold together (Bonferroni).

    >>> round(confidence_of_each(10), 4)
    0.995
    """
    return 1 - (1 - confidence) / max(comparisons, 1)


def named_together(estimate: Estimate, comparisons: int, *, confidence: float = 0.95) -> Estimate:
    """An estimate at `confidence_of_each`, whose method says that so many intervals hold together; one is as it was.

    >>> named_together(Estimate(0.5, 0.1, 0.9, 10, "clopper-pearson 99.5%"), 10).method
    'clopper-pearson, 10 together 95%'
    """
    if comparisons < 2:
        return estimate
    method = estimate.method.rpartition(" ")[0]
    return replace(estimate, method=method_name(f"{method}, {comparisons:,} together", confidence))


def widened(estimate: Estimate, comparisons: int, *, confidence: float = 0.95) -> Estimate:
    """An estimate with an interval as much wider as normal ones must be for so many to hold together (Bonferroni).

    For intervals that cannot be made anew at `confidence_of_each`.

    >>> wider = widened(Estimate(0.5, 0.4, 0.6, 10, "delta 95%"), 20)  # 3.023 standard errors instead of 1.960
    >>> round(wider.low, 4), round(wider.high, 4), wider.method
    (0.3457, 0.6543, 'delta, 20 together 95%')
    """
    wider = normal_quantile(confidence_of_each(comparisons, confidence)) / normal_quantile(confidence)
    low, high = (estimate.value + wider * (bound - estimate.value) for bound in (estimate.low, estimate.high))
    return named_together(replace(estimate, low=low, high=high), comparisons, confidence=confidence)


def _ordered(p_values: ArrayLike) -> tuple[FloatArray, IntArray]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p-values must be a flat list of numbers between 0 and 1")
    return p, np.argsort(p, kind="stable")


def _restored(adjusted: FloatArray, order: IntArray) -> FloatArray:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
