"""Ties across the last stored place: classes with the same score, some of which are stored and some are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Ties:
    """The images for which a class that is not stored has the same score as the last stored one.

    ``rows`` (t,) are their positions, ascending, and ``bits`` (t, b) the classes with that score, stored ones included:
    one bit per class, the first class in the highest bit of the first byte.
    """

    rows: IntArray
    bits: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.bits.ndim != 2 or len(self.bits) != len(self.rows):
            raise InputError(f"ties need one row of bits per image, got {self.bits.shape} for {len(self.rows)} images")

    def __len__(self) -> int:
        return len(self.rows)

    def classes(self, chosen: IntArray, count: int) -> BoolArray:
        """Shape (m, count): which of ``count`` classes are tied for the ``chosen`` ones (m,) of these images."""
        return np.unpackbits(self.bits[chosen], axis=1, count=count).astype(bool)

    def reordered(self, order: IntArray) -> Ties | None:
        """The ties of images in another order, or of some of them; None without any. A place of -1 has none."""
        place = np.full(max(int(order.max(initial=-1)), int(self.rows.max(initial=-1))) + 2, -1)  # the last is for -1
        place[self.rows] = np.arange(len(self))
        chosen = place[order]
        rows = np.flatnonzero(chosen >= 0)
        return Ties(rows, self.bits[chosen[rows]]) if len(rows) else None


def joined_ties(parts: Sequence[tuple[int, Ties | None]]) -> Ties | None:
    """The ties of consecutive parts, each with the position of its first image; None without any."""
    present = [(start, ties) for start, ties in parts if ties is not None and len(ties)]
    if not present:
        return None
    rows = np.concatenate([start + ties.rows for start, ties in present])
    return Ties(rows.astype(np.int64), np.concatenate([ties.bits for _, ties in present]))
