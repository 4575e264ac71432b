"""Corrections of many p-values at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's adjusted p-values: the chance of any false finding stays below the level.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p, order = _ordered(p_values)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's adjusted p-values: the expected share of false findings stays below the level.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    p, order = _ordered(p_values)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _ordered(p_values: ArrayLike) -> tuple[FloatArray, IntArray]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p-values must be a flat list of numbers between 0 and 1")
    return p, np.argsort(p, kind="stable")


def _restored(adjusted: FloatArray, order: IntArray) -> FloatArray:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
