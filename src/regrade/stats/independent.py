"""The difference of two proportions on images of their own: the same model on two test sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.stats.intervals import Intervals, whole_numbers, wilson


def independent_difference(
    first: ArrayLike, of_first: ArrayLike, second: ArrayLike, of_second: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Intervals for the first proportion less the second, from counts that broadcast.

    Each bound is as far from the difference as the two Wilson intervals reach in its direction, taken together as
    independent errors are (Newcombe 1998, method 10); it never leaves [-1, 1] and has a width even at 0 and 1.

    >>> interval = independent_difference(56, 70, 48, 80)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (0.0524, 0.3339)
    """
    k, n, other, size = whole_numbers(first, of_first, second, of_second)
    one, two = wilson(k, n, confidence=confidence), wilson(other, size, confidence=confidence)
    p, q = k / n, other / size
    low = p - q - np.hypot(p - one.low, two.high - q)
    high = p - q + np.hypot(one.high - p, q - two.low)
    return Intervals(np.maximum(low, -1.0), np.minimum(high, 1.0))
