"""Do two models err on the same images? Intervals for Cohen's kappa and for the covariance of being right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.intervals import Intervals, normal_quantile, whole_numbers


def kappa_interval(
    both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Intervals for the kappa of two models' being right, from counts of any shapes that broadcast.

    ``both`` counts the images that both have right. The variance is that of Fleiss, Cohen and Everitt (1969), taken,
    like the center, at a table with z^2 / 4 images more in each of its four cells: as it stands it is 0 for models that
    never differ. The interval holds the sample's own kappa. At 95% it covers 0.93 or more with 20 images or more,
    whatever the accuracies, and down to 0.89 with 10. Not a number where both are always right or both always wrong.

    >>> found = kappa_interval(40, 10, 5, 100)
    >>> round(float(found.low), 2), round(float(found.high), 2)
    (0.53, 0.82)
    """
    table = _table(both, only_first, only_second, images)
    wider = table.widened(confidence)
    bounds = _around(wider.kappa, wider.spread(wider.kappa_influence()), confidence)
    low, high = np.maximum(bounds.low, -1.0), np.minimum(bounds.high, 1.0)
    undefined = np.isnan(table.kappa)
    return Intervals(np.where(undefined, np.nan, low), np.where(undefined, np.nan, high))


def covariance_interval(
    both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Intervals for the covariance of two models' being right: P(both right) - P(first right) P(second right).

    Made as `kappa_interval`, and always defined. At 95% it covers 0.93 or more with 50 images or more.
    """
    wider = _table(both, only_first, only_second, images).widened(confidence)
    return _around(wider.covariance, wider.spread(wider.covariance_influence()), confidence)


@dataclass(frozen=True)
class _Table:
    """Shares of the images that both, only one and neither of two models have right, and how many images there are."""

    both: FloatArray
    only_first: FloatArray
    only_second: FloatArray
    neither: FloatArray
    images: FloatArray

    @property
    def cells(self) -> tuple[tuple[FloatArray, int, int], ...]:
        """Each share with whether the first and the second are right there."""
        return (self.both, 1, 1), (self.only_first, 1, 0), (self.only_second, 0, 1), (self.neither, 0, 0)

    @property
    def first(self) -> FloatArray:
        return self.both + self.only_first

    @property
    def second(self) -> FloatArray:
        return self.both + self.only_second

    @property
    def covariance(self) -> FloatArray:
        return self.both * self.neither - self.only_first * self.only_second

    @property
    def chance(self) -> FloatArray:
        """How often independent models of these accuracies differ."""
        return self.first * (1 - self.second) + self.second * (1 - self.first)

    @property
    def kappa(self) -> FloatArray:
        alike = (self.both == 1) | (self.neither == 1)
        return np.where(alike, np.nan, 2 * self.covariance / np.where(alike, 1.0, self.chance))

    def widened(self, confidence: float) -> _Table:
        """The table with more images in each cell, as many as make the interval cover."""
        more = normal_quantile(confidence) ** 2 / 4
        images = self.images + 4 * more
        both, only_first, only_second, neither = ((share * self.images + more) / images for share, _, _ in self.cells)
        return _Table(both, only_first, only_second, neither, images)

    def covariance_influence(self) -> list[FloatArray]:
        """What an image of each cell does to the covariance."""
        return [(x - self.first) * (y - self.second) - self.covariance for _, x, y in self.cells]

    def kappa_influence(self) -> list[FloatArray]:
        """What an image of each cell does to kappa, which is twice the covariance over chance."""
        on_chance = [
            (x - self.first) * (1 - 2 * self.second) + (y - self.second) * (1 - 2 * self.first)
            for _, x, y in self.cells
        ]
        pairs = zip(self.covariance_influence(), on_chance, strict=True)
        return [(2 * above - self.kappa * below) / self.chance for above, below in pairs]

    def spread(self, influence: list[FloatArray]) -> FloatArray:
        """The standard error of a quantity, by the delta method."""
        squares = (share * one**2 for (share, _, _), one in zip(self.cells, influence, strict=True))
        return np.sqrt(sum(squares, start=np.zeros(())) / self.images)


def _table(both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike) -> _Table:
    counts = whole_numbers(both, only_first, only_second, images)
    _check(*counts)
    a, b, c, n = (count.astype(np.float64) for count in counts)
    return _Table(a / n, b / n, c / n, (n - a - b - c) / n, n)


def _check(both: IntArray, only_first: IntArray, only_second: IntArray, images: IntArray) -> None:
    if (images <= 0).any():
        raise UndefinedError("how alike models are has no value over no images")
    if (
        min(count.min(initial=0) for count in (both, only_first, only_second)) < 0
        or (both + only_first + only_second > images).any()
    ):
        raise InputError("counts of images must be at least 0, and together no more than the images")


def _around(center: FloatArray, spread: FloatArray, confidence: float) -> Intervals:
    """So many standard errors around the center."""
    reach = normal_quantile(confidence) * spread
    return Intervals(center - reach, center + reach)
