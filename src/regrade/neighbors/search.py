"""Find pairs of near duplicates by their signatures or features, between two sets or within one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Distance, InputError, MismatchError, NearPairs, Signatures
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.nearest import Metric, Nearest, Rows, nearest
from regrade.neighbors.signatures import HASH_BYTES, SIZE, hash_bits

NEIGHBORS = 10
"""Maximal number of neighbors per image (Vasudevan et al. 2022)."""

_THRESHOLDS = {  # at the default size; measured in docs/neighbors.md
    Distance.EXACT: 0.0,
    Distance.PIXELS: 6e7,
    Distance.DSSIM: 0.2,
    Distance.PHASH: 8.0,
    Distance.FEATURES: 0.1,
}


def default_threshold(distance: Distance, *, size: int = SIZE) -> float:
    """The default threshold of a distance; that of pixels is proportional to their number at the common ``size``.

    Raises for embeddings, whose scale depends on the model.
    """
    if distance not in _THRESHOLDS:
        raise InputError(
            f"{distance.value} need a threshold, since their scale depends on the model; for fc7 of VGG, Recht et al. "
            "2019 used 13200"
        )
    threshold = _THRESHOLDS[distance]
    return threshold * (size / SIZE) ** 2 if distance is Distance.PIXELS else threshold


def exact_pairs(first: Signatures, second: Signatures | None = None, *, k: int = NEIGHBORS) -> NearPairs:
    """Images whose decoded pixels are equal, in a second set or at a later position of the same set."""
    references = first if second is None else second
    both = np.concatenate([first.pixel_hashes, references.pixel_hashes])
    _, hash_ids = np.unique(np.ascontiguousarray(both).view(f"S{HASH_BYTES}").ravel(), return_inverse=True)
    query_ids, reference_ids = hash_ids[: len(first)], hash_ids[len(first) :]
    readable = np.flatnonzero(references.readable)
    order = readable[np.argsort(reference_ids[readable], kind="stable")]
    low, high = (np.searchsorted(reference_ids[order], query_ids, side=side) for side in ("left", "right"))
    if second is None:
        low[order] = np.arange(1, len(order) + 1)
    duplicates = np.where(first.readable, high - low, 0)
    counts = np.minimum(duplicates, k)
    rows = np.repeat(np.arange(len(first)), counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = Edges(rows, order[low[rows] + steps], np.zeros(len(rows)), np.zeros(len(rows), dtype=bool))
    smallest = np.where(duplicates > 0, 0.0, np.nan)
    if second is None:
        smallest[pairs.second] = 0.0
    return near_pairs(Distance.EXACT, 0.0, pairs, first.readable, smallest, crowded=int((duplicates > k).sum()))


def phash_pairs(
    first: Signatures,
    second: Signatures | None = None,
    *,
    threshold: float,
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
) -> NearPairs:
    """Images whose perceptual hashes, or those of their mirror images, differ in at most ``threshold`` bits."""
    references = first if second is None else second
    reference_bits = hash_bits(references.phashes[:, 0])
    parts = [
        nearest(hash_bits(first.phashes[:, column]), reference_bits, k=k, within=second is None,
                usable=references.readable, engine=engine)
        for column in (0, 1)
    ]  # fmt: skip
    hamming = [Nearest(part.indices, part.distances / 4) for part in parts]  # a differing bit contributes 2 ** 2
    return _within_threshold(Distance.PHASH, threshold, hamming, first.readable, within=second is None)


def feature_pairs(
    first: Rows,
    second: Rows | None = None,
    *,
    threshold: float,
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
    note: str = "",
    distance: Distance = Distance.FEATURES,
) -> NearPairs:
    """Images whose features (n, d) have a cosine similarity of at least 1 - ``threshold``; zero rows are left out.

    With the ``distance`` `Distance.EMBEDDINGS`, their squared Euclidean distance is at most ``threshold``.
    """
    references = first if second is None else second
    if first.shape[1] != references.shape[1]:
        raise MismatchError(
            f"features of {first.shape[1]} and of {references.shape[1]} numbers are not of the same model"
        )
    metric = Metric.COSINE if distance is Distance.FEATURES else Metric.EUCLIDEAN
    neighbors = nearest(first, references, k=k, metric=metric, within=second is None, engine=engine)
    lengths = _lengths(first)
    usable = np.isfinite(lengths) & ((lengths > 0) | (metric is Metric.EUCLIDEAN))
    return _within_threshold(distance, threshold, [neighbors], usable, within=second is None, note=note)


def near_pairs(
    distance: Distance,
    threshold: float,
    edges: Edges,
    seen: BoolArray,
    nearest_values: FloatArray,
    *,
    crowded: int,
    note: str = "",
) -> NearPairs:
    """Edges as the pairs of a distance."""
    columns = (edges.first, edges.second, edges.values, edges.mirrored)
    return NearPairs(distance, threshold, *columns, seen, nearest_values, crowded, note)


def crowded_rows(parts: Sequence[Nearest], limit: float) -> IntArray:
    """The queries whose k neighbors are all within a limit, so that there may be more."""
    full = np.any([part.distances[:, -1] <= limit for part in parts], axis=0)
    return np.flatnonzero(full)


def _within_threshold(
    distance: Distance, threshold: float, parts: Sequence[Nearest], seen: BoolArray, *, within: bool, note: str = ""
) -> NearPairs:
    edges = merged([edges_of(part, mirrored=index > 0) for index, part in enumerate(parts)], within=within)
    edges = edges[(edges.values <= threshold) & seen[edges.first]]
    smallest = np.fmin.reduce([part.distances[:, 0] for part in parts])
    smallest = np.where(seen, smallest, np.nan)
    crowded = int(seen[crowded_rows(parts, threshold)].sum())
    return near_pairs(distance, threshold, edges, seen, smallest, crowded=crowded, note=note)


def _lengths(rows: Rows, step: int = 4096) -> FloatArray:
    """Shape (n,): the sums of absolute values, 0 for zero rows."""
    parts = [np.asarray(rows[start : start + step], dtype=np.float32) for start in range(0, len(rows), step)]
    sums = [np.abs(part).sum(axis=1) for part in parts]
    return np.concatenate(sums) if sums else np.zeros(0)


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs (p,), their distances, and whether the distance is that of the first image's mirror image."""

    first: IntArray
    second: IntArray
    values: FloatArray
    mirrored: BoolArray

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: BoolArray | IntArray) -> Edges:
        return Edges(self.first[chosen], self.second[chosen], self.values[chosen], self.mirrored[chosen])


def edges_of(neighbors: Nearest, *, mirrored: bool = False) -> Edges:
    """All neighbors of a search, as pairs."""
    rows, ranks = np.nonzero(neighbors.indices >= 0)
    values = neighbors.distances[rows, ranks]
    return Edges(rows, neighbors.indices[rows, ranks], values, np.full(len(rows), mirrored))


def merged(parts: Sequence[Edges], *, within: bool) -> Edges:
    """Each pair once at its smallest distance, not mirrored if both are equal; ``within`` one set, the lower one first.

    Pairs are sorted by distance, then by position.
    """
    first, second, values, mirrored = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "values", "mirrored")
    )
    if within:
        first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((mirrored, values, second, first))
    first, second = first[order], second[order]
    is_new = np.append(True, (np.diff(first) != 0) | (np.diff(second) != 0))[: len(first)]
    edges = Edges(first[is_new], second[is_new], values[order][is_new], mirrored[order][is_new])
    return edges[np.lexsort((edges.second, edges.first, edges.values))]
