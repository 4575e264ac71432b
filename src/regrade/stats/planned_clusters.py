"""Plans for images in clusters: how many images are worth a number of independent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.influence import influence_effects
from regrade.stats.power import fewest_images, within_limit

_NORMAL_KURTOSIS = 3.0
_ROUNDING = 1e-9  # of a number of images times or over a design effect


@dataclass(frozen=True)
class PlannedClusters:
    """How the images of a plan come in clusters.

    ``effect`` is the design effect: the variance of a share over that of as many independent images. ``size`` is the
    mean number of images per cluster, and ``kurtosis`` that of the cluster totals, on which it depends how well their
    variance is known (3 if they are normal).
    """

    effect: float
    size: float
    kurtosis: float = _NORMAL_KURTOSIS

    def __post_init__(self) -> None:
        if not 1 <= self.size < math.inf or not 1 <= self.effect < math.inf:
            raise InputError(
                f"clusters have at least one image and a design effect of at least 1, got {self.size:g} and "
                f"{self.effect:g}"
            )

    def images_with_power(self, independent: int, power: float) -> int:
        """The images that turn out to be worth so many independent ones with this power.

        What they are worth is itself measured: the variance of C cluster totals varies as chi-square with 2 C / (k - 1)
        degrees of freedom, where k is their kurtosis.
        """
        if self.size == 1:
            return independent

        def enough(images: int) -> bool:
            freedom = 2 * images / self.size / max(self.kurtosis - 1, 1e-9)
            largest = scipy.special.chdtri(freedom, 1 - power) / freedom  # of the measured variance, by its true one
            return bool(images >= independent * self.effect * max(float(largest), 1.0) - _ROUNDING)

        return fewest_images(enough)


def clustered_images(independent: int, effect: float | None) -> int:
    """The images that are worth so many independent ones at a design ``effect``; None: they are independent."""
    return independent if effect is None else within_limit(math.ceil(independent * effect - _ROUNDING))


def independent_images(images: int, effect: float | None) -> int:
    """The number of independent images, at least 1, that images with a design ``effect`` are worth."""
    return images if effect is None else max(math.floor(images / effect + _ROUNDING), 1)


def assumed_clusters(size: float, correlation: float, share: float = 0.5) -> PlannedClusters:
    """Clusters of ``size`` images whose correctness has this ``correlation`` within a cluster.

    The design effect is 1 + (size - 1) correlation (Kish 1965). ``share`` is the accuracy: totals of clusters that are
    right or wrong as a whole have the kurtosis of a single image.

    >>> assumed_clusters(5, 0.3).effect
    2.2
    """
    if not 0 <= correlation <= 1:
        raise InputError(f"the correlation within clusters must lie between 0 and 1, got {correlation:g}")
    variance = share * (1 - share)
    whole = (1 - 3 * variance) / variance if variance > 0 else _NORMAL_KURTOSIS
    return PlannedClusters(1 + (size - 1) * correlation, float(size), max(whole, _NORMAL_KURTOSIS))


def measured_clusters(values: ArrayLike, clusters: ArrayLike) -> PlannedClusters:
    """Clusters as those of measured ``values`` (n,) in [0, 1]; other images must come in clusters of the same kind."""
    scores, numbers = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if not len(scores):
        raise UndefinedError("a design effect needs at least one image, got 0")
    influence = scores - scores.mean()
    (effect,) = influence_effects(influence, numbers)
    return PlannedClusters(float(effect), len(scores) / len(np.unique(numbers)), _kurtosis(influence, numbers))


def _kurtosis(influence: ArrayLike, clusters: IntArray) -> float:
    totals = np.bincount(np.unique(clusters, return_inverse=True)[1], influence)
    variance = float((totals**2).mean())
    return max(float((totals**4).mean()) / variance**2, 1.0) if variance > 0 else _NORMAL_KURTOSIS
