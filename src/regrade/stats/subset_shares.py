"""Mean shares on subsets of images, which may overlap, and their differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name
from regrade.stats.means import Spread, korn_graubard


def subset_share(
    shares: ArrayLike, inside: ArrayLike, clusters: ArrayLike | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean of ``shares`` (n,) in [0, 1] over the images ``inside`` (n,), with an interval over images.

    A share is, for instance, that of the models that are right about an image. The interval is that of Clopper and
    Pearson at the sample size that the variance is worth; the variance is shrunk towards that of a proportion with the
    weight of one image, since the few images that most models fail on may be missing by chance. With ``clusters`` (n,)
    of images, the variance is that of the cluster totals, shrunk with the weight of one cluster. Fewer than two images
    raise; a single cluster says nothing of others, and has the interval [0, 1].

    >>> print(subset_share([1.0, 0.5, 0.0, 1.0], [True, True, True, False]))
    50.0 [3.9, 96.1]
    """
    values, (members,) = _checked(shares, inside)
    chosen = values[members]
    n, mean = len(chosen), float(chosen.mean())
    if clusters is None:
        sums, units, size, name = chosen - mean, n, 1.0, "exact over images"
    else:
        numbers, sizes = np.unique(np.asarray(clusters)[members], return_inverse=True, return_counts=True)[1:]
        sums = np.asarray(np.bincount(numbers, chosen - mean), dtype=np.float64)
        units, name = len(sizes), "clustered exact"
        size = float(sizes @ sizes / sizes.sum())  # of the cluster of a random image
        if units < 2:
            return Estimate(mean, 0.0, 1.0, n, method_name(name, confidence))
    squares = float(sums @ sums) + size**2 * mean * (1 - mean)  # the largest variance, as of one image or cluster
    spread = Spread(np.array([mean]), np.array([squares / n**2]), np.array([units - 1.0]), float(units), n)
    return korn_graubard(spread, name, confidence)[0]


def subset_difference(
    shares: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean share on the ``first`` (n,) subset of images minus that on the ``second`` (n,).

    The subsets may have images in common: these contribute to both means, and their errors cancel. Bounds combine those
    of the two means, with that correlation (Zou and Donner 2008). So may the ``clusters`` (n,) of their images. Equal
    subsets differ by 0.
    """
    values, (one_side, second_side) = _checked(shares, first, second)
    left, right = (subset_share(values, side, clusters, confidence=confidence) for side in (one_side, second_side))
    difference, n = left.value - right.value, int((one_side | second_side).sum())
    name = "exact over images" if clusters is None else "clustered exact"
    method = method_name(f"{name}, combined", confidence)
    if (one_side == second_side).all():
        return Estimate(0.0, 0.0, 0.0, n, method)
    r = _correlation(values, one_side, second_side, clusters)
    low = difference - _combined(left.value - left.low, right.high - right.value, r)
    high = difference + _combined(left.high - left.value, right.value - right.low, r)
    return Estimate(difference, max(low, -1.0), min(high, 1.0), n, method)


def _combined(one_distance: float, second_distance: float, correlation: float) -> float:
    squares = one_distance**2 + second_distance**2 - 2 * correlation * one_distance * second_distance
    return float(np.sqrt(max(squares, 0.0)))


def _correlation(values: FloatArray, first: BoolArray, second: BoolArray, clusters: ArrayLike | None) -> float:
    """The correlation of the means of two subsets, from the images, or clusters of images, that they share."""
    parts = [np.where(side, values - values[side].mean(), 0.0) / side.sum() for side in (first, second)]
    if clusters is not None:
        numbers = np.unique(np.asarray(clusters), return_inverse=True)[1]
        parts = [np.bincount(numbers, part) for part in parts]
    lengths = [float(np.sqrt(part @ part)) for part in parts]
    if not all(lengths):
        return 0.0
    return float(parts[0] @ parts[1]) / (lengths[0] * lengths[1])


def _checked(shares: ArrayLike, *subsets: ArrayLike) -> tuple[FloatArray, list[BoolArray]]:
    values, sides = np.asarray(shares, dtype=np.float64), [np.asarray(subset, dtype=bool) for subset in subsets]
    if values.ndim != 1 or any(side.shape != values.shape for side in sides):
        raise InputError(f"shares and subsets must be (n,) over the same images, got {values.shape}")
    if any(side.sum() < 2 for side in sides):
        raise UndefinedError("how a mean varies over images takes at least two of them")
    inside = values[np.logical_or.reduce(sides)]
    if not ((inside >= 0) & (inside <= 1)).all():
        raise InputError("shares must lie between 0 and 1")
    return values, sides
