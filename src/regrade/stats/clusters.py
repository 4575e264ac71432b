"""Groups of items: hierarchical clusters from distances, connected components of pairs, and representatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError


@dataclass(frozen=True)
class Clusters:
    """``order`` (m,) is the leaf order of the tree; ``members`` (m,) are cluster numbers, from 0 along the order."""

    order: IntArray
    members: IntArray


def cluster(distances: FloatArray, *, threshold: float) -> Clusters:
    """Cluster m items from their symmetric distances (m, m), with average linkage.

    Clusters whose mean distance is at most ``threshold`` are merged. The leaf order minimizes the distance between
    neighbors (Bar-Joseph et al. 2001).

    >>> points = np.array([0.0, 5.0, 0.1, 5.2])
    >>> clusters = cluster(np.abs(points[:, None] - points), threshold=1.0)
    >>> clusters.order.tolist(), clusters.members.tolist()
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
    numbers = hierarchy.fcluster(tree, threshold, criterion="distance")
    _, first_places = np.unique(numbers[order], return_index=True)
    return Clusters(order, np.argsort(np.argsort(first_places))[numbers - 1])


def components(first: IntArray, second: IntArray, size: int) -> IntArray:
    """Shape (size,): the connected component of each node, numbered by first occurrence, from edges (e,).

    >>> components(np.array([0, 3]), np.array([2, 1]), 5).tolist()
    [0, 1, 0, 1, 2]
    """
    from scipy import sparse  # slow to import, and rarely needed
    from scipy.sparse import csgraph

    if len(first) != len(second) or np.any((np.minimum(first, second) < 0) | (np.maximum(first, second) >= size)):
        raise InputError(f"every edge must connect two nodes from 0 to {size - 1}")
    graph = sparse.coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(size, size))
    labels = csgraph.connected_components(graph, directed=False)[1]
    _, places, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(places))[numbers]


def representatives(groups: IntArray, first: IntArray, second: IntArray, preference: IntArray) -> IntArray:
    """Shape (n,): the node that stands for each node, itself if it is kept; edges (e,) connect alike nodes.

    Nodes with the same number in ``groups`` (n,) are equal: of each group one is kept at most. Groups are taken by
    their highest ``preference`` (n,), the first among equals; one is kept unless it has an edge to a group that was
    kept before, which then stands for it. So no two kept nodes are alike, and every other node is equal to its
    representative or has an edge to it or to an equal one: there are no chains.

    >>> chain = np.array([0, 1]), np.array([1, 2])
    >>> representatives(np.arange(3), *chain, np.zeros(3)).tolist()
    [0, 0, 2]
    >>> representatives(np.arange(3), *chain, np.array([0, 1, 0])).tolist()
    [1, 1, 1]
    """
    order = np.lexsort((np.arange(len(groups)), -preference))
    ordered, places = np.unique(groups[order], return_index=True)
    best = dict(zip(ordered.tolist(), order[places].tolist(), strict=True))
    alike: dict[int, set[int]] = {}
    for group, neighbor in zip(groups[first].tolist(), groups[second].tolist(), strict=True):
        alike.setdefault(group, set()).add(neighbor)
        alike.setdefault(neighbor, set()).add(group)
    stands_for = dict(best)
    taken: set[int] = set()
    for group in groups[order[np.sort(places)]].tolist():
        if group in taken or group not in alike:
            continue
        taken.add(group)
        for neighbor in alike[group] - taken:
            stands_for[neighbor] = best[group]
            taken.add(neighbor)
    return np.array([stands_for[group] for group in groups.tolist()], dtype=np.int64)
