"""Two samples of separate images: differences of proportions and means, the effect of a subset, Fisher's exact test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core import Estimate
from regrade.core.arrays import FloatArray
from regrade.stats.intervals import Intervals, as_counts, method_name, wilson

_ANGLES = 721  # points on an ellipse
_LEAST_P = 1e-12  # at smaller levels, quantiles lose their precision
_MOST_P = 0.99  # at larger ones, intervals have no width
_HALVINGS = 40


def independent_difference(
    first: ArrayLike, of_first: ArrayLike, second: ArrayLike, of_second: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return intervals for the first proportion minus the second, from counts that broadcast.

    Each bound combines the distances of the two Wilson bounds as independent errors (Newcombe 1998, method 10). The
    interval stays within [-1, 1] and has a positive width even for proportions of 0 and 1.

    >>> interval = independent_difference(56, 70, 48, 80)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (0.0524, 0.3339)
    """
    k1, n1, k2, n2 = as_counts(first, of_first, second, of_second)
    bounds1, bounds2 = wilson(k1, n1, confidence=confidence), wilson(k2, n2, confidence=confidence)
    return newcombe_bounds(k1 / n1, bounds1, k2 / n2, bounds2)


def newcombe_bounds(first: FloatArray, of_first: Intervals, second: FloatArray, of_second: Intervals) -> Intervals:
    """Return intervals for the ``first`` proportions minus the ``second``, from the Wilson bounds of both."""
    low = first - second - np.hypot(first - of_first.low, of_second.high - second)
    high = first - second + np.hypot(of_first.high - first, second - of_second.low)
    return Intervals(np.maximum(low, -1.0), np.minimum(high, 1.0))


def difference_of_samples(first: Estimate, second: Estimate, *, confidence: float = 0.95) -> Estimate:
    """Return the first estimate minus the second, from independent samples, both with intervals at ``confidence``.

    Each bound combines the distances of the two intervals as independent errors (Zou and Donner 2008), so any interval
    works. ``n`` is the smaller of the two samples.

    >>> print(difference_of_samples(Estimate(0.8, 0.77, 0.83, 500, ""), Estimate(0.7, 0.66, 0.74, 400, "")))
    10.0 [5.0, 15.0]
    """
    value = first.value - second.value
    low = value - float(np.hypot(first.value - first.low, second.high - second.value))
    high = value + float(np.hypot(first.high - first.value, second.value - second.low))
    return Estimate(value, low, high, min(first.n, second.n), method_name("square and add", confidence))


def interval_p_value(interval_at: Callable[[float], Estimate]) -> float:
    """Return the two-sided p-value that a difference is 0: the smallest level at which its interval excludes 0.

    ``interval_at`` returns the interval at a confidence level; a higher level must give a wider interval. P-values
    below 1e-12 are returned as 1e-12, and those above 0.99 as 1.

    >>> from regrade.stats import clustered_mean
    >>> round(interval_p_value(lambda level: clustered_mean([1, 0, 1, 1], range(4), confidence=level)[0]), 4)
    0.0577
    """
    low, high = np.log(_LEAST_P), np.log(_MOST_P)
    if not _excludes_zero(interval_at(1 - _MOST_P)):
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _excludes_zero(interval_at(1 - float(np.exp(middle)))) else (middle, high)
    return float(np.exp(high))


def _excludes_zero(interval: Estimate) -> bool:
    return interval.low > 0 or interval.high < 0


def subset_effect(
    part: ArrayLike, of_part: ArrayLike, rest: ArrayLike, of_rest: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return intervals for a proportion on all images minus that on the rest: the effect of a subset of images.

    The effect is the subset's share of the images times the difference of the two proportions, and both factors are
    random. They vary within the ellipse spanned by their Wilson and Newcombe intervals, and the bounds are the smallest
    and the largest product. So the interval excludes 0 exactly if that of the difference does. At 95% its coverage is
    at least 0.94 if 3 or more images are expected in the subset. Treating the share as fixed would give shorter
    intervals (by a factor of up to 2.5) with coverage of only 0.5 to 0.95.

    >>> interval = subset_effect(9, 10, 120, 190)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (-0.0022, 0.0272)
    """
    k1, n1, k2, n2 = as_counts(part, of_part, rest, of_rest)
    difference = independent_difference(k1, n1, k2, n2, confidence=confidence)
    share = wilson(n1, n1 + n2, confidence=confidence)
    angles = np.linspace(0, 2 * np.pi, _ANGLES)
    products = _between(share, n1 / (n1 + n2), np.cos(angles)) * _between(difference, k1 / n1 - k2 / n2, np.sin(angles))
    return Intervals(products.min(axis=-1), products.max(axis=-1))


def _between(bounds: Intervals, value: FloatArray, steps: FloatArray) -> FloatArray:
    """Shape (..., steps): interpolation, where step -1 is the lower bound, 0 the value and 1 the upper bound."""
    distances = np.where(steps < 0, (value - bounds.low)[..., None], (bounds.high - value)[..., None])
    return np.asarray(value[..., None] + steps * distances)


def fisher_exact(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the two-sided p-value of Fisher's exact test that two proportions are equal.

    >>> round(fisher_exact(3, 4, 1, 4), 4)
    0.4857
    """
    k1, n1, k2, n2 = (int(count) for count in as_counts(first, of_first, second, of_second))
    right = k1 + k2
    possible = np.arange(max(0, right - n2), min(n1, right) + 1)
    logs = -sum(
        scipy.special.gammaln(cell + 1)
        for cell in (possible, n1 - possible, right - possible, n2 - right + possible)
    )  # fmt: skip
    probabilities = np.exp(logs - logs.max())
    observed = probabilities[k1 - possible[0]]
    return float(probabilities[probabilities <= observed * (1 + 1e-7)].sum() / probabilities.sum())
