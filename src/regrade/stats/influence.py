"""What images in clusters are worth to a statistic, from the influence of each image on it (the delta method)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.shares_of_groups import few_clusters


def influence_effects(influence: ArrayLike, clusters: ArrayLike) -> FloatArray:
    """Shape (m,): the design effect of ``clusters`` (n,) on m statistics, from each image's influence (m, n) on them.

    It is the variance of the cluster totals over that of independent images, and at least 1. One more cluster of mean
    size (weighted by images), whose images all have the largest influence, is counted where this gives more, so that
    few images with influence do not look independent by luck. One image per cluster gives 1.

    >>> influence_effects([[1, 1, -1, -1]], [0, 0, 1, 1]).tolist()
    [2.0]
    """
    rows = np.atleast_2d(np.asarray(influence, dtype=np.float64))
    _, members, sizes = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
    if rows.shape[1] != len(members):
        raise InputError(f"{rows.shape[1]} images but {len(members)} cluster entries")
    if not len(members):
        raise UndefinedError("a design effect needs at least one image, got 0")
    size = float(sizes @ sizes / sizes.sum())
    totals = np.stack([np.bincount(members, weights=row) for row in rows])
    variances, independent, largest = (totals**2).sum(axis=1), (rows**2).sum(axis=1), (rows**2).max(axis=1)
    varies = independent > 0
    measured = np.divide(variances, independent, out=np.full(len(rows), size), where=varies)
    with_another = (variances + size**2 * largest) / np.where(varies, independent + size * largest, 1.0)
    effects: FloatArray = np.maximum(np.maximum(measured, with_another), 1.0)
    return effects


def effective_sizes(influence: ArrayLike, clusters: ArrayLike, *, upper: float) -> FloatArray:
    """Shape (m,): the number of independent images that n images in ``clusters`` (n,) are worth to m statistics.

    It is n over the design effect of the ``influence`` (m, n), less for few clusters, whose variance is uncertain: by
    quantiles of t at ``upper``, the upper tail of the interval. 0 for a single cluster, which says nothing of others.
    """
    effects = influence_effects(influence, clusters)
    images, count = len(np.asarray(clusters)), len(np.unique(np.asarray(clusters)))
    if count == images:
        return np.full(len(effects), float(images))
    return few_clusters(images / effects, np.array(images), np.array(count), upper=upper)


def independent_size(influence: ArrayLike, clusters: ArrayLike | None, *, upper: float) -> float:
    """As `effective_sizes` for one statistic; the number of images without clusters."""
    if clusters is None:
        return float(len(np.asarray(influence)))
    return float(effective_sizes(influence, clusters, upper=upper)[0])
