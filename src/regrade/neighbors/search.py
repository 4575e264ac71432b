"""Pairs of alike images by what is kept of them, between two sets or within one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import Distance, MismatchError, NearPairs, Signatures
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.merging import Edges, edges_of, merged
from regrade.neighbors.nearest import Metric, Nearest, Rows, nearest
from regrade.neighbors.perceptual_hash import hash_bits
from regrade.neighbors.pixel_hash import HASH_BYTES

NEIGHBORS = 10
"""How many neighbors a image lists at most (Vasudevan et al. 2022)."""


def exact_pairs(first: Signatures, second: Signatures | None = None, *, k: int = NEIGHBORS) -> NearPairs:
    """Images whose decoded pixels are the same, in the second set or further on in the same one."""
    others = first if second is None else second
    both = np.concatenate([first.pixel_hashes, others.pixel_hashes])
    _, numbers = np.unique(np.ascontiguousarray(both).view(f"S{HASH_BYTES}").ravel(), return_inverse=True)
    keys, known = numbers[: len(first)], numbers[len(first) :]
    there = np.flatnonzero(others.readable)
    order = there[np.argsort(known[there], kind="stable")]
    low, high = (np.searchsorted(known[order], keys, side=side) for side in ("left", "right"))
    if second is None:
        low[order] = np.arange(1, len(order) + 1)
    found = np.where(first.readable, high - low, 0)
    counts = np.minimum(found, k)
    rows = np.repeat(np.arange(len(first)), counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = Edges(rows, order[low[rows] + steps], np.zeros(len(rows)), np.zeros(len(rows), dtype=bool))
    twin = np.where(found > 0, 0.0, np.nan)
    if second is None:
        twin[pairs.second] = 0.0
    return near_pairs(Distance.EXACT, 0.0, pairs, first.readable, twin, crowded=int((found > k).sum()))


def phash_pairs(
    first: Signatures,
    second: Signatures | None = None,
    *,
    cut: float,
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
) -> NearPairs:
    """Images whose perceptual hashes, or those of their mirror images, differ in at most ``cut`` bits."""
    others = first if second is None else second
    known = hash_bits(others.phashes[:, 0])
    parts = [
        nearest(hash_bits(first.phashes[:, way]), known, k=k, within=second is None, usable=others.readable,
                engine=engine)
        for way in (0, 1)
    ]  # fmt: skip
    halved = [Nearest(part.indices, part.distances / 4) for part in parts]  # a bit that differs is two apart
    return _within_cut(Distance.PHASH, cut, halved, first.readable, within=second is None)


def feature_pairs(
    first: Rows,
    second: Rows | None = None,
    *,
    cut: float,
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
    note: str = "",
) -> NearPairs:
    """Images whose features (n, d) have a cosine of at least 1 - ``cut``; rows without a direction are not seen."""
    others = first if second is None else second
    if first.shape[1] != others.shape[1]:
        raise MismatchError(f"features of {first.shape[1]} and of {others.shape[1]} numbers are not of one model")
    found = nearest(first, others, k=k, metric=Metric.COSINE, within=second is None, engine=engine)
    seen = _has_direction(first)
    return _within_cut(Distance.FEATURES, cut, [found], seen, within=second is None, note=note)


def near_pairs(
    distance: Distance,
    cut: float,
    edges: Edges,
    seen: BoolArray,
    nearest_values: FloatArray,
    *,
    crowded: int,
    note: str = "",
) -> NearPairs:
    """Edges as the pairs of a distance."""
    return NearPairs(
        distance, cut, edges.first, edges.second, edges.values, edges.mirrored, seen, nearest_values, crowded, note
    )


def crowded_rows(parts: Sequence[Nearest], limit: float) -> IntArray:
    """The queries all of whose neighbors are within a limit, so that there may be more than were asked for."""
    full = np.any([part.distances[:, -1] <= limit for part in parts], axis=0)
    return np.flatnonzero(full)


def _within_cut(
    distance: Distance, cut: float, parts: Sequence[Nearest], seen: BoolArray, *, within: bool, note: str = ""
) -> NearPairs:
    edges = merged([edges_of(part, mirrored=way > 0) for way, part in enumerate(parts)], within=within)
    edges = edges[(edges.values <= cut) & seen[edges.first]]
    least = np.fmin.reduce([part.distances[:, 0] for part in parts])
    least = np.where(seen, least, np.nan)
    crowded = int(seen[crowded_rows(parts, cut)].sum())
    return near_pairs(distance, cut, edges, seen, least, crowded=crowded, note=note)


def _has_direction(rows: Rows, step: int = 4096) -> BoolArray:
    parts = [np.asarray(rows[start : start + step], dtype=np.float32) for start in range(0, len(rows), step)]
    sums = [np.abs(part).sum(axis=1) for part in parts]
    lengths = np.concatenate(sums) if sums else np.zeros(0)
    return np.isfinite(lengths) & (lengths > 0)
