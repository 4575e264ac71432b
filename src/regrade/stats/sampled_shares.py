"""Shares of many models, from counts of images that are independent or come in clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import (
    Intervals,
    clopper_pearson,
    exact_bounds,
    method_name,
    tail_share,
    wilson,
    wilson_bounds,
)
from regrade.stats.multiplicity import bonferroni_confidence
from regrade.stats.selection import best_share, worst_of_failures
from regrade.stats.shares_of_groups import few_clusters, group_shares


@dataclass(frozen=True)
class EffectiveImages:
    """The number of independent images that images in ``clusters`` are worth, as if the variance were known."""

    size: float
    clusters: int


def effective_images(scores: ArrayLike, clusters: ArrayLike) -> EffectiveImages:
    """What the images behind the mean of ``scores`` (n,) in [0, 1] are worth, as in `clustered_share`.

    Images that are each a cluster of their own are worth their number. A single cluster raises: it says nothing of
    others.

    >>> worth = effective_images(np.tile([1, 1, 0, 0], 50), np.arange(200) // 2)
    >>> round(worth.size, 6), worth.clusters
    (99.0, 100)
    """
    values = np.asarray(scores, dtype=np.float64)
    shares = group_shares(values, np.zeros(len(values), dtype=np.int64), clusters)
    count = len(np.unique(np.asarray(clusters)))
    if count < 2:
        raise UndefinedError("how a share varies over clusters of images takes at least two of them")
    return EffectiveImages(float(shares.effective_sizes[0]), count)


@dataclass(frozen=True, eq=False)
class SampledShares:
    """The shares of ``right`` (m,) among ``images`` (m,), which are worth ``effective`` (m); None: independent ones."""

    right: IntArray
    images: IntArray
    effective: tuple[EffectiveImages, ...] | None = None

    @cached_property
    def values(self) -> FloatArray:
        """Shape (m,): the shares."""
        shares: FloatArray = self.right / self.images
        return shares

    def exact(self, confidence: float) -> Intervals:
        """Shape (m,): Clopper-Pearson intervals, those of Korn and Graubard for clusters."""
        if self.effective is None:
            return clopper_pearson(self.right, self.images, confidence=confidence)
        return exact_bounds(*self._worth(confidence), confidence=confidence)

    def wilson(self, confidence: float) -> Intervals:
        """Shape (m,): Wilson's intervals, at the effective sample sizes for clusters."""
        if self.effective is None:
            return wilson(self.right, self.images, confidence=confidence)
        return wilson_bounds(*self._worth(confidence), confidence=confidence)

    def estimates(self, confidence: float) -> list[Estimate]:
        """The shares with their exact intervals."""
        bounds = self.exact(confidence)
        method = method_name("clopper-pearson" if self.effective is None else "clustered korn-graubard", confidence)
        rows = zip(self.values, bounds.low, bounds.high, self.images, strict=True)
        return [Estimate(float(share), float(low), float(high), int(n), method) for share, low, high, n in rows]

    def best(self, confidence: float) -> Estimate:
        """The largest share, with an interval for the truth of the selected one: `best_share`, or over clusters.

        Both bounds over clusters hold simultaneously for all m shares (Bonferroni).
        """
        if self.effective is None:
            return best_share(self.right, self.images, confidence=confidence)
        models = len(self.values)
        best = self.estimates(bonferroni_confidence(models, confidence))[int(np.argmax(self.values))]
        which = f" for the best of {models:,}" if models > 1 else ""
        return replace(best, method=method_name(f"clustered korn-graubard{which}", confidence))

    def worst(self, confidence: float) -> Estimate:
        """The smallest share; see `best`."""
        failures = SampledShares(self.images - self.right, self.images, self.effective)
        return worst_of_failures(failures.best(confidence))

    def _worth(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Shapes (m,): the right ones and all of the independent images that the images are worth."""
        effective = self.effective or ()
        sizes = np.array([part.size for part in effective])
        clusters = np.array([part.clusters for part in effective])
        reduced = few_clusters(sizes, self.images, clusters, upper=1 - tail_share(confidence))
        worth: FloatArray = np.where(clusters == self.images, self.images, reduced)
        return self.right * worth / self.images, worth
