"""Intervals for Cohen's kappa and for the covariance of two models' correctness on the same images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.intervals import Intervals, as_counts, normal_quantile


def kappa_interval(
    both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return intervals for Cohen's kappa of two models' correctness, from counts of any shapes that broadcast.

    ``both`` counts the images that both have right. Center and variance (Fleiss, Cohen and Everitt 1969) are computed
    from a table with z^2 / 4 images added to each of its four cells, because the plain variance is 0 for models that
    never differ. The interval contains the sample's kappa. At 95% its coverage is at least 0.93 with 20 or more images
    at any accuracy, and at least 0.89 with 10. NaN where both models are always right or both always wrong.

    >>> bounds = kappa_interval(40, 10, 5, 100)
    >>> round(float(bounds.low), 2), round(float(bounds.high), 2)
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
    """Return intervals for the covariance of correctness, P(both right) - P(first right) P(second right).

    Constructed as in `kappa_interval`, and always defined. At 95% its coverage is at least 0.93 with 50 or more images.
    """
    wider = _table(both, only_first, only_second, images).widened(confidence)
    return _around(wider.covariance, wider.spread(wider.covariance_influence()), confidence)


@dataclass(frozen=True)
class _Table:
    """Shares of the images that both, only one and neither of two models have right, and the number of images."""

    both: FloatArray
    only_first: FloatArray
    only_second: FloatArray
    neither: FloatArray
    images: FloatArray

    @property
    def cells(self) -> tuple[tuple[FloatArray, int, int], ...]:
        """Each share with the correctness (0 or 1) of the first and of the second model."""
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
        """Expected disagreement of independent models with these accuracies."""
        return self.first * (1 - self.second) + self.second * (1 - self.first)

    @property
    def kappa(self) -> FloatArray:
        undefined = (self.both == 1) | (self.neither == 1)
        return np.where(undefined, np.nan, 2 * self.covariance / np.where(undefined, 1.0, self.chance))

    def widened(self, confidence: float) -> _Table:
        """The table with z^2 / 4 images added to each cell."""
        more = normal_quantile(confidence) ** 2 / 4
        images = self.images + 4 * more
        both, only_first, only_second, neither = ((share * self.images + more) / images for share, _, _ in self.cells)
        return _Table(both, only_first, only_second, neither, images)

    def covariance_influence(self) -> list[FloatArray]:
        """Influence of an image of each cell on the covariance."""
        return [(x - self.first) * (y - self.second) - self.covariance for _, x, y in self.cells]

    def kappa_influence(self) -> list[FloatArray]:
        """Influence of an image of each cell on kappa, which is 2 covariance / chance."""
        on_chance = [
            (x - self.first) * (1 - 2 * self.second) + (y - self.second) * (1 - 2 * self.first)
            for _, x, y in self.cells
        ]
        pairs = zip(self.covariance_influence(), on_chance, strict=True)
        return [(2 * numerator - self.kappa * denominator) / self.chance for numerator, denominator in pairs]

    def spread(self, influence: list[FloatArray]) -> FloatArray:
        """The standard error of a quantity with this influence, by the delta method."""
        squares = (share * value**2 for (share, _, _), value in zip(self.cells, influence, strict=True))
        return np.sqrt(sum(squares, start=np.zeros(())) / self.images)


def _table(both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike) -> _Table:
    counts = as_counts(both, only_first, only_second, images)
    _check(*counts)
    a, b, c, n = (count.astype(np.float64) for count in counts)
    return _Table(a / n, b / n, c / n, (n - a - b - c) / n, n)


def _check(both: IntArray, only_first: IntArray, only_second: IntArray, images: IntArray) -> None:
    if (images <= 0).any():
        raise UndefinedError("the similarity of models needs at least one image, got 0")
    if (
        min(count.min(initial=0) for count in (both, only_first, only_second)) < 0
        or (both + only_first + only_second > images).any()
    ):
        raise InputError("counts of images must be at least 0 and sum to at most the number of images")


def _around(center: FloatArray, spread: FloatArray, confidence: float) -> Intervals:
    """Normal intervals around the center with standard error ``spread``."""
    half_width = normal_quantile(confidence) * spread
    return Intervals(center - half_width, center + half_width)
