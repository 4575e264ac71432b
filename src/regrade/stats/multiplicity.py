"""Corrections of p-values and intervals for multiple comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, proportion, tail_share

_BLOCK = 1 << 18  # p-values processed at a time; there may be millions


def holm(p_values: ArrayLike) -> FloatArray:
    """Return Holm's adjusted p-values, which control the family-wise error rate.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p, order = _ordered(p_values)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _restored(stepped, order)


def holm_threshold(p_values: FloatArray, level: float) -> float:
    """Return the largest p-value (p,) that is significant at ``level`` after Holm's correction; -1 if none is.

    A p-value is at most this threshold exactly if its `holm`-adjusted value is at most ``level``. Sorts the array in
    place.

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
    """Return Benjamini and Hochberg's adjusted p-values, which control the false discovery rate.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    p, order = _ordered(p_values)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def bonferroni_confidence(comparisons: int, confidence: float = 0.95) -> float:
    """Return the confidence level per interval so that all ``comparisons`` intervals hold simultaneously (Bonferroni).

    >>> round(bonferroni_confidence(10), 4)
    0.995
    """
    return 1 - (1 - confidence) / max(comparisons, 1)


def mark_simultaneous(estimate: Estimate, comparisons: int, *, confidence: float = 0.95) -> Estimate:
    """Return the estimate with ``comparisons`` added to its method name; unchanged for a single comparison.

    Its interval must already be at `bonferroni_confidence`.

    >>> mark_simultaneous(Estimate(0.5, 0.1, 0.9, 10, "clopper-pearson 99.5%"), 10).method
    'clopper-pearson, 10 together 95%'
    """
    if comparisons < 2:
        return estimate
    method = estimate.method.rpartition(" ")[0]
    return replace(estimate, method=method_name(f"{method}, {comparisons:,} together", confidence))


def simultaneous_proportions(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> list[Estimate | None]:
    """Return proportions (k,) whose exact intervals hold simultaneously; without trials a proportion is None.

    >>> [str(share) for share in simultaneous_proportions([5, 0], [10, 0])]
    ['50.0 [18.7, 81.3]', 'None']
    """
    sizes = np.asarray(trials)
    comparisons = int((sizes > 0).sum())
    level = bonferroni_confidence(comparisons, confidence)
    return [
        mark_simultaneous(proportion(right, size, confidence=level), comparisons, confidence=confidence)
        if size
        else None
        for right, size in zip(np.asarray(successes).tolist(), sizes.tolist(), strict=True)
    ]


def widen_for_comparisons(
    estimate: Estimate, comparisons: int, *, confidence: float = 0.95, freedom: float = np.inf
) -> Estimate:
    """Return the estimate with its interval widened so that ``comparisons`` hold simultaneously (Bonferroni).

    The factor is that of t intervals with ``freedom`` degrees of freedom, by default that of normal intervals. Use it
    for intervals that cannot be recomputed at `bonferroni_confidence`.

    >>> wider = widen_for_comparisons(Estimate(0.5, 0.4, 0.6, 10, "delta 95%"), 20)  # 3.023 / 1.960 times as wide
    >>> round(wider.low, 4), round(wider.high, 4), wider.method
    (0.3457, 0.6543, 'delta, 20 together 95%')
    """
    tails = [tail_share(level) for level in (bonferroni_confidence(comparisons, confidence), confidence)]
    wide, narrow = (float(scipy.special.stdtrit(freedom, 1 - tail)) for tail in tails)
    factor = wide / narrow
    low, high = (estimate.value + factor * (bound - estimate.value) for bound in (estimate.low, estimate.high))
    return mark_simultaneous(replace(estimate, low=low, high=high), comparisons, confidence=confidence)


def _ordered(p_values: ArrayLike) -> tuple[FloatArray, IntArray]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p-values must be a one-dimensional array of numbers between 0 and 1")
    return p, np.argsort(p, kind="stable")


def _restored(adjusted: FloatArray, order: IntArray) -> FloatArray:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
