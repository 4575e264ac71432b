"""Difference of two mean shares at equal composition: both sets of images are weighted as the first one is composed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name
from regrade.stats.means import Spread, korn_graubard, over_clusters, stratified


def standardized_difference(
    shares: ArrayLike,
    strata: ArrayLike,
    base: ArrayLike,
    base_strata: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    base_clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean of ``shares`` (n,) minus that of ``base`` (k,) at the composition of the first images.

    ``strata`` (n,) and ``base_strata`` (k,) are integers. The means of the base images per stratum are weighted by the
    sizes of the strata among the first images; strata that lack either kind of image are left out. The images of both
    kinds must be different ones. Bounds combine those of the two stratified means (Korn-Graubard) as independent errors
    (Zou and Donner 2008), for this composition. Values are shares from 0 to 1. Images of one of the ``clusters`` (n,)
    and ``base_clusters`` (k,) are dependent. Raises if no stratum has both.

    >>> print(standardized_difference([1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1]))
    12.5 [-68.1, 61.2]
    """
    values, base_values = (np.asarray(part, dtype=np.float64) for part in (shares, base))
    own, theirs = np.asarray(strata), np.asarray(base_strata)
    if values.shape != own.shape or base_values.shape != theirs.shape:
        raise InputError("every share needs one stratum")
    common, sizes = np.unique(own[np.isin(own, theirs)], return_counts=True)
    if not len(common):
        raise UndefinedError("no stratum has images of both kinds")
    left, right = (
        korn_graubard(_stratified_share(*part, common, sizes), "stratified", confidence)[0]
        for part in ((values, own, clusters), (base_values, theirs, base_clusters))
    )
    difference = left.value - right.value
    low = difference - float(np.hypot(left.value - left.low, right.high - right.value))
    high = difference + float(np.hypot(left.high - left.value, right.value - right.low))
    kind = "stratified" if clusters is None and base_clusters is None else "clustered stratified"
    method = method_name(f"{kind} korn-graubard, combined", confidence)
    return Estimate(difference, max(low, -1.0), min(high, 1.0), int(sizes.sum()), method)


def _stratified_share(
    values: FloatArray, strata: IntArray, clusters: ArrayLike | None, common: IntArray, sizes: IntArray
) -> Spread:
    """The mean over the common strata, weighted by sizes; clusters of images can only add to its variance."""
    inside = np.isin(strata, common)
    spread = stratified(values[inside], strata[inside], sizes)
    if clusters is None:
        return spread
    members, counts = np.unique(strata[inside], return_inverse=True, return_counts=True)[1:]
    means = np.bincount(members, values[inside]) / counts
    influence = (sizes / sizes.sum() / counts)[members] * (values[inside] - means[members])
    return over_clusters(spread, influence, np.asarray(clusters)[inside])
