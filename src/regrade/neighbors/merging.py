"""Pairs of positions: put together, each once, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.neighbors.nearest import Nearest


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs (p,) with how far apart they are, and whether it is the mirror image of the first that is so near."""

    first: IntArray
    second: IntArray
    values: FloatArray
    mirrored: BoolArray

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: BoolArray | IntArray) -> Edges:
        return Edges(self.first[chosen], self.second[chosen], self.values[chosen], self.mirrored[chosen])


def edges_of(found: Nearest, *, mirrored: bool = False) -> Edges:
    """All neighbors that a search has found, as pairs."""
    rows, places = np.nonzero(found.indices >= 0)
    values = found.distances[rows, places]
    return Edges(rows, found.indices[rows, places], values, np.full(len(rows), mirrored))


def merged(parts: Sequence[Edges], *, within: bool) -> Edges:
    """Each pair once at its least distance, unmirrored if both are equal; ``within`` one set the lower place first.

    The nearest pairs come first, of equally near ones those of the lower places.
    """
    first, second, values, mirrored = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "values", "mirrored")
    )
    if within:
        first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((mirrored, values, second, first))
    first, second = first[order], second[order]
    fresh = np.append(True, (np.diff(first) != 0) | (np.diff(second) != 0))[: len(first)]
    each = Edges(first[fresh], second[fresh], values[order][fresh], mirrored[order][fresh])
    return each[np.lexsort((each.second, each.first, each.values))]
