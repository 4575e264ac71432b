"""What hangs together: the components of a graph, and the one of each that is kept."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError


def components(first: IntArray, second: IntArray, size: int) -> IntArray:
    """Shape (size,): the component of each of ``size`` things that edges (e,) connect, numbered as they first occur.

    >>> components(np.array([0, 3]), np.array([2, 1]), 5).tolist()
    [0, 1, 0, 1, 2]
    """
    from scipy import sparse  # slow to load, and few ask for it
    from scipy.sparse import csgraph

    if len(first) != len(second) or np.any((np.minimum(first, second) < 0) | (np.maximum(first, second) >= size)):
        raise InputError(f"edges connect two of {size} things each")
    graph = sparse.coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(size, size))
    found = csgraph.connected_components(graph, directed=False)[1]
    _, places, numbers = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(places))[numbers]


def kept_of_each(groups: IntArray, preference: IntArray) -> BoolArray:
    """Shape (n,): one member of each group, the one with the highest preference, of equal ones the first."""
    order = np.lexsort((np.arange(len(groups)), -preference, groups))
    leads = np.append(True, np.diff(groups[order]) != 0)[: len(groups)]
    kept = np.zeros(len(groups), dtype=bool)
    kept[order[leads]] = True
    return kept
