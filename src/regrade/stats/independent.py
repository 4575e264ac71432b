"""Two proportions on images of their own: their difference, what one adds to the whole, and whether they differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import FloatArray
from regrade.stats.intervals import Intervals, whole_numbers, wilson

_ANGLES = 721  # points of an ellipse


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


def part_effect(
    part: ArrayLike, of_part: ArrayLike, rest: ArrayLike, of_rest: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Intervals for a proportion on all images less that on the rest: what a part of the images adds to it.

    That is the part's share of the images times the difference of both proportions, and the share is as random as the
    difference. Share and difference vary within the ellipse that their Wilson and Newcombe intervals span, and the
    bounds are the smallest and the largest product. So the interval leaves 0 out exactly where that of the difference
    does. At 95% it covers 0.94 or more from 3 images expected in the part. It is wider than with the share as if fixed,
    which covers 0.5 to 0.95: up to 2.5 times where both differ, 1.9 times with 3 images and no difference.

    >>> interval = part_effect(9, 10, 120, 190)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (-0.0022, 0.0272)
    """
    k, n, others, size = whole_numbers(part, of_part, rest, of_rest)
    difference = independent_difference(k, n, others, size, confidence=confidence)
    share = wilson(n, n + size, confidence=confidence)
    angles = np.linspace(0, 2 * np.pi, _ANGLES)
    products = _between(share, n / (n + size), np.cos(angles)) * _between(
        difference, k / n - others / size, np.sin(angles)
    )
    return Intervals(products.min(axis=-1), products.max(axis=-1))


def _between(bounds: Intervals, value: FloatArray, steps: FloatArray) -> FloatArray:
    """Shape (..., steps): -1 is the lower bound, 0 the value, 1 the upper bound."""
    reaches = np.where(steps < 0, (value - bounds.low)[..., None], (bounds.high - value)[..., None])
    return np.asarray(value[..., None] + steps * reaches)


def fisher_exact(first: int, of_first: int, second: int, of_second: int) -> float:
    """Fisher's exact test that two proportions are equal, two-sided: as likely tables or less likely ones.

    >>> round(fisher_exact(3, 4, 1, 4), 4)
    0.4857
    """
    k, n, other, size = (int(count) for count in whole_numbers(first, of_first, second, of_second))
    right = k + other
    possible = np.arange(max(0, right - size), min(n, right) + 1)
    logs = -sum(
        special.gammaln(cell + 1)
        for cell in (possible, n - possible, right - possible, size - right + possible)
    )  # fmt: skip
    chances = np.exp(logs - logs.max())
    own = chances[k - possible[0]]
    return float(chances[chances <= own * (1 + 1e-7)].sum() / chances.sum())
