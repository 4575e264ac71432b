"""Merge pairs of positions: each pair once, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.neighbors.nearest import Nearest


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
