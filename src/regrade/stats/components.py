"""Connected components of a graph, and a choice of one member per component."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError


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


def keep_one_per_group(groups: IntArray, preference: IntArray) -> BoolArray:
    """Shape (n,): True for one member per group: the one with the highest ``preference``, the first among equals."""
    order = np.lexsort((np.arange(len(groups)), -preference, groups))
    leads = np.append(True, np.diff(groups[order]) != 0)[: len(groups)]
    kept = np.zeros(len(groups), dtype=bool)
    kept[order[leads]] = True
    return kept
