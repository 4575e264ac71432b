"""Quantiles with distribution-free intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share


def quantile(values: ArrayLike, share: float, *, confidence: float = 0.95) -> Estimate:
    """Return the ``share`` quantile of ``values`` (n,) with an interval between two order statistics.

    The order statistics come from the binomial distribution (Conover 1999, 3.2); coverage is at least ``confidence``
    for any distribution. Raises if there are too few values: at 95% a median needs 6 and a quartile 13.

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
    below = special.bdtr(np.arange(n), n, share)  # P(at most i values lie below the true quantile)
    low = int((below <= tail).sum()) - 1
    high = int(np.searchsorted(below, 1 - tail))
    if low < 0 or high >= n:
        raise UndefinedError(f"{n} values are too few for an interval of the {100 * share:g}% quantile")
    method = method_name("order statistics", confidence)
    return Estimate(float(np.quantile(ordered, share)), float(ordered[low]), float(ordered[high]), n, method)
