"""What is kept of images so that alike ones are found without looking at them again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Signatures:
    """The signatures of images in order: position i of every field speaks of image i.

    ``pixel_hashes`` (n, 16) are of the decoded pixels; ``phashes`` (n, 2) are the perceptual hashes of the image and
    of its mirror image; ``thumbnails`` (n, s, s, 3), often a memory map, are block means of the image at ``size``;
    ``areas`` (n,) count its pixels. ``unreadable`` gives the reason for each position that has no signature.
    """

    size: int
    pixel_hashes: NDArray[np.uint8]
    phashes: NDArray[np.uint64]
    thumbnails: NDArray[np.uint8]
    areas: IntArray
    unreadable: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = {len(part) for part in (self.pixel_hashes, self.phashes, self.thumbnails, self.areas)}
        if len(rows) > 1:
            raise InputError(f"signatures must have as many rows everywhere, got {sorted(rows)}")

    def __len__(self) -> int:
        return len(self.areas)

    @cached_property
    def readable(self) -> BoolArray:
        """Shape (n,): the images that have a signature."""
        there = np.ones(len(self), dtype=bool)
        there[list(self.unreadable)] = False
        return there

    @cached_property
    def digest(self) -> str:
        """A hash of everything: equal images, equal digest."""
        state = hashlib.sha256(f"{self.size} {self.thumbnails.shape} {sorted(self.unreadable.items())}".encode())
        state.update(np.ascontiguousarray(self.pixel_hashes).data)
        state.update(np.ascontiguousarray(self.phashes, dtype="<u8").data)
        state.update(np.ascontiguousarray(self.areas, dtype="<i8").data)
        for start in range(0, len(self), 4096):
            state.update(np.ascontiguousarray(self.thumbnails[start : start + 4096]).data)
        return state.hexdigest()

    def __getitem__(self, rows: IntArray) -> Signatures:
        """The signatures at some positions, in their order."""
        return Signatures(
            self.size,
            self.pixel_hashes[rows],
            self.phashes[rows],
            self.thumbnails[rows],
            self.areas[rows],
            {i: self.unreadable[row] for i, row in enumerate(rows.tolist()) if row in self.unreadable},
        )


def joined_signatures(parts: Sequence[Signatures]) -> Signatures:
    """Signatures that follow one another, as one; parts of different sizes raise."""
    if len({part.size for part in parts}) != 1:
        raise InputError("signatures of one size, and at least one part of them, can be joined")
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])]).tolist()
    return Signatures(
        parts[0].size,
        np.concatenate([part.pixel_hashes for part in parts]),
        np.concatenate([part.phashes for part in parts]),
        np.concatenate([part.thumbnails for part in parts]),
        np.concatenate([part.areas for part in parts]),
        {
            start + position: reason
            for start, part in zip(starts, parts, strict=True)
            for position, reason in part.unreadable.items()
        },
    )
