"""Which models are alike: an order that keeps them side by side, and where one cluster ends and the next begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError


@dataclass(frozen=True)
class Clusters:
    """``order`` (m,) puts like beside like; ``members`` (m,) numbers each one's cluster, from 0 along the order."""

    order: IntArray
    members: IntArray


def cluster(distances: FloatArray, *, cut: float) -> Clusters:
    """Cluster m things by their symmetric distances (m, m): average linkage, cut at a distance.

    Two clusters are one where the mean distance between their members is no more than ``cut``. Among the orders that
    the tree allows, that with the least distance between neighbors is taken (Bar-Joseph et al. 2001).

    >>> points = np.array([0.0, 5.0, 0.1, 5.2])
    >>> found = cluster(np.abs(points[:, None] - points), cut=1.0)
    >>> found.order.tolist(), found.members.tolist()
    ([0, 2, 1, 3], [0, 1, 0, 1])
    """
    from scipy.cluster import hierarchy  # slow to import, and needed only here
    from scipy.spatial.distance import squareform

    if distances.ndim != 2 or len(distances) != distances.shape[1] or not np.isfinite(distances).all():
        raise InputError(f"clustering needs finite distances (m, m), got shape {distances.shape}")
    if len(distances) < 2:
        return Clusters(np.arange(len(distances)), np.zeros(len(distances), dtype=np.int64))
    tree = hierarchy.linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    order = hierarchy.leaves_list(tree).astype(np.int64)
    found = hierarchy.fcluster(tree, cut, criterion="distance")
    _, first_places = np.unique(found[order], return_index=True)
    return Clusters(order, np.argsort(np.argsort(first_places))[found - 1])
