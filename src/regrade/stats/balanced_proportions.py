"""Proportions in which every class counts the same, with intervals that also hold for few classes of unequal size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.clustered_pairs import clustered_share
from regrade.stats.intervals import Intervals, clopper_pearson, method_name, proportions
from regrade.stats.means import korn_graubard, over_clusters, stratified, stratified_proportion
from regrade.stats.shares_of_groups import group_shares

FEW_CLASSES = 9.5
"""Below this effective number of classes, the interval also contains the one combined from those of the classes."""


def balanced_proportion(
    correct: ArrayLike, classes: ArrayLike, clusters: ArrayLike | None = None, *, confidence: float = 0.95
) -> list[Estimate]:
    """Return the mean over classes of the proportion in each, for each row of ``correct`` (m, n) or (n,).

    ``classes`` (n,) is each image's class. With many classes the interval is that of `stratified_proportion`. If the
    variance rests on few classes, because there are few or some have few images, a class that happens to have no error
    would look certain. Then the interval is widened where it does not contain the one combined from the exact intervals
    of the classes, whose distances from the class proportions are added in quadrature (MOVER, Zou and Donner 2008). The
    sizes of the classes alone decide which is used. With one image per class the interval is that of `proportion`.
    Images of one of the ``clusters`` (n,) are dependent: the variance is multiplied by their design effect, the number
    of clusters per class counts instead of that of images, and classes with common clusters are correlated.

    >>> print(balanced_proportion(np.arange(100) > 0, np.arange(100) >= 95)[0])
    99.5 [73.3, 100.0]
    """
    values = np.atleast_2d(np.asarray(correct, dtype=np.float64))
    _, members, sizes = np.unique(np.asarray(classes), return_inverse=True, return_counts=True)
    _check(values, members)
    if clusters is not None:
        return [_over_clusters(row, members, np.asarray(clusters), confidence) for row in values]
    if sizes.max() == 1:
        return proportions(values.sum(axis=1).astype(np.int64), len(members), confidence=confidence)
    stratified = stratified_proportion(values, members, confidence=confidence)
    if effective_number(sizes) >= FEW_CLASSES:
        return stratified
    return _widened(stratified, _combined(values, members, sizes, confidence), confidence)


def effective_number(sizes: IntArray) -> float:
    """How many classes the variance rests on if all images vary alike: all of them if their sizes are equal."""
    parts = 1 / sizes
    return float(parts.sum() ** 2 / (parts**2).sum())


def _combined(values: FloatArray, members: IntArray, sizes: IntArray, confidence: float) -> Intervals:
    counts = np.stack([np.bincount(members, weights=row) for row in values]).astype(np.int64)
    shares, bounds = counts / sizes, clopper_pearson(counts, sizes, confidence=confidence)
    below = np.sqrt(((shares - bounds.low) ** 2).sum(axis=1)) / len(sizes)
    above = np.sqrt(((bounds.high - shares) ** 2).sum(axis=1)) / len(sizes)
    return Intervals(shares.mean(axis=1) - below, shares.mean(axis=1) + above)


def _over_clusters(right: FloatArray, members: IntArray, clusters: IntArray, confidence: float) -> Estimate:
    shares = group_shares(right, members, clusters)
    sizes, units = shares.sizes, shares.clusters
    if sizes.max() == 1:
        return clustered_share(right, clusters, confidence=confidence)
    influence = (right - shares.values[members]) / sizes[members]
    spread = over_clusters(stratified(right, members, None), influence, clusters)
    (estimate,) = korn_graubard(spread, "clustered stratified korn-graubard", confidence)
    if effective_number(sizes if units is None else units) >= FEW_CLASSES:
        return estimate
    bounds, correlations = shares.exact(confidence), shares.correlations
    below, above = (
        combined_distance(part, correlations) / len(sizes)
        for part in (shares.values - bounds.low, bounds.high - shares.values)
    )
    combined = Intervals(np.array([estimate.value - below]), np.array([estimate.value + above]))
    return _widened([estimate], combined, confidence, "widened clustered korn-graubard")[0]


def combined_distance(distances: FloatArray, correlations: FloatArray) -> float:
    """The distance of a sum to its bound, from those of its terms (k,), whose errors have ``correlations`` (k, k)."""
    return float(np.sqrt(max(float(distances @ correlations @ distances), 0.0)))


def _widened(
    estimates: list[Estimate], bounds: Intervals, confidence: float, kind: str = "widened korn-graubard"
) -> list[Estimate]:
    method = method_name(kind, confidence)
    rows = zip(estimates, bounds.low.tolist(), bounds.high.tolist(), strict=True)
    return [
        Estimate(e.value, max(min(e.low, low), 0.0), min(max(e.high, high), 1.0), e.n, method) for e, low, high in rows
    ]


def _check(values: FloatArray, members: IntArray) -> None:
    if values.shape[1] != len(members):
        raise InputError(f"{values.shape[1]} values but {len(members)} classes")
    if not len(members):
        raise UndefinedError("a proportion needs at least one image, got 0")
    if not ((values == 0) | (values == 1)).all():
        raise InputError("a proportion needs values that are 1 (right) or 0 (wrong)")
