"""Medians and quartiles with intervals that hold for any distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share


def quantile(values: ArrayLike, share: float, *, confidence: float = 0.95) -> Estimate:
    """The value below which a share of ``values`` (n,) lies, between two of them that enclose the true one.

    Which two is the binomial distribution's to say (Conover 1999, 3.2); the interval covers at least as often as it
    promises. Where not even the smallest and the largest value do, it is undefined and raises: a median needs 6 values
    at 95%, a quartile 13.

    >>> found = quantile(range(1, 21), 0.5)
    >>> found.value, found.low, found.high
    (10.5, 6.0, 15.0)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not 0 < share < 1:
        raise InputError(f"a quantile's share must lie between 0 and 1, got {share}")
    if ordered.ndim != 1 or not np.isfinite(ordered).all():
        raise InputError("a quantile needs one row of finite numbers")
    n, tail = len(ordered), tail_share(confidence)
    below = special.bdtr(np.arange(n), n, share)  # that at most so many values lie below the true quantile
    low = int((below <= tail).sum()) - 1
    high = int(np.searchsorted(below, 1 - tail))
    if low < 0 or high >= n:
        raise UndefinedError(f"{n} values are too few for an interval of the {100 * share:g}% quantile")
    method = method_name("order statistics", confidence)
    return Estimate(float(np.quantile(ordered, share)), float(ordered[low]), float(ordered[high]), n, method)
