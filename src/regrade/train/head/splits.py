"""Weights that balance classes or groups, and parts of the training images that are made of whole clusters."""

from __future__ import annotations

from enum import Enum

import numpy as np

from regrade.core import InputError
from regrade.core.arrays import FloatArray, IntArray


class Balance(Enum):
    """Which parts of the training images have the same total weight."""

    NONE = "none"
    """Every image."""
    CLASS = "class"
    """Every class of the training set."""
    GROUP = "group"
    """Every group of a column."""


def balanced_weights(parts: IntArray | None, count: int) -> FloatArray:
    """Shape (n,): weights that sum to 1, 1 / (k * size of the part) for k parts (n,); without parts 1 / ``count``.

    >>> balanced_weights(np.array([0, 0, 0, 5]), 4).round(3).tolist()
    [0.167, 0.167, 0.167, 0.5]
    """
    if parts is None:
        return np.full(count, 1 / count)
    _, place, sizes = np.unique(parts, return_inverse=True, return_counts=True)
    weights: FloatArray = (1 / (len(sizes) * sizes))[place]
    return weights


def cluster_parts(clusters: IntArray, strata: IntArray, count: int, *, rng: np.random.Generator) -> IntArray:
    """Shape (n,): divide images into ``count`` parts of whole ``clusters`` (n,), with equal shares of the ``strata``.

    Clusters are dealt out at random within the most frequent stratum of their images, so that the parts have the same
    number of clusters up to 1. Fewer clusters than parts raise.
    """
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < count:
        unit = "images" if len(names) == len(clusters) else "clusters of images"
        raise InputError(f"{count} parts cannot be made of {len(names)} {unit}: give fewer --folds")
    stratum = _most_frequent(place, np.unique(strata, return_inverse=True)[1])
    order = np.lexsort((rng.random(len(names)), stratum))
    part = np.empty(len(names), dtype=np.int64)
    part[order] = np.arange(len(names)) % count
    return part[place]


def _most_frequent(place: IntArray, strata: IntArray) -> IntArray:
    """Shape (m,): the most frequent stratum of each cluster, by the cluster (n,) and the stratum (n,) of each image."""
    width = int(strata.max()) + 1
    pairs, counts = np.unique(place * width + strata, return_counts=True)
    order = np.lexsort((-counts, pairs // width))
    first = order[np.unique((pairs // width)[order], return_index=True)[1]]
    frequent: IntArray = pairs[first] % width
    return frequent
