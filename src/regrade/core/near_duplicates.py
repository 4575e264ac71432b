"""Near-duplicate images: signatures to find them without decoding again, and the pairs within a distance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Signatures:
    """The signatures of images in order: position i of every field belongs to image i.

    ``pixel_hashes`` (n, 16) are hashes of the decoded pixels; ``phashes`` (n, 2) are the perceptual hashes of the image
    and of its mirror image; ``thumbnails`` (n, s, s, 3), often a memory map, are block means of the image at ``size``;
    ``areas`` (n,) are numbers of pixels. ``unreadable`` contains the reason for each position without a signature.
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
            raise InputError(f"all parts of the signatures must have the same number of rows, got {sorted(rows)}")

    def __len__(self) -> int:
        return len(self.areas)

    @cached_property
    def readable(self) -> BoolArray:
        """Shape (n,): the images with a signature."""
        readable = np.ones(len(self), dtype=bool)
        readable[list(self.unreadable)] = False
        return readable

    @cached_property
    def digest(self) -> str:
        """A hash of all signatures: equal for equal images."""
        state = hashlib.sha256(f"{self.size} {self.thumbnails.shape} {sorted(self.unreadable.items())}".encode())
        state.update(np.ascontiguousarray(self.pixel_hashes).data)
        state.update(np.ascontiguousarray(self.phashes, dtype="<u8").data)
        state.update(np.ascontiguousarray(self.areas, dtype="<i8").data)
        for start in range(0, len(self), 4096):
            state.update(np.ascontiguousarray(self.thumbnails[start : start + 4096]).data)
        return state.hexdigest()

    def __getitem__(self, rows: IntArray) -> Signatures:
        """The signatures at the given positions, in that order."""
        return Signatures(
            self.size,
            self.pixel_hashes[rows],
            self.phashes[rows],
            self.thumbnails[rows],
            self.areas[rows],
            {i: self.unreadable[row] for i, row in enumerate(rows.tolist()) if row in self.unreadable},
        )


def joined_signatures(parts: Sequence[Signatures]) -> Signatures:
    """Concatenate signatures; raise if their image sizes differ."""
    if len({part.size for part in parts}) != 1:
        raise InputError("joining signatures requires at least one part, and equal image sizes")
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


class Distance(Enum):
    """Distances between two images; 0 means equal under each of them."""

    EXACT = "exact"
    """0 if the decoded pixels are equal."""
    PIXELS = "pixels"
    """Squared Euclidean distance of the pixels in RGB at a common size (Recht et al. 2019)."""
    DSSIM = "dssim"
    """(1 - SSIM) / 2 at a common size (Recht et al. 2019)."""
    PHASH = "phash"
    """Number of different bits of the perceptual hashes, of 64."""
    FEATURES = "features"
    """1 - cosine similarity of the embeddings of a model (Vasudevan et al. 2022)."""
    EMBEDDINGS = "embeddings"
    """Squared Euclidean distance of the embeddings of a model (Recht et al. 2019)."""

    @property
    def is_by_model(self) -> bool:
        """Whether the distance compares the embeddings of a model."""
        return self in (Distance.FEATURES, Distance.EMBEDDINGS)


@dataclass(frozen=True, eq=False)
class NearPairs:
    """The pairs of images with a distance of at most ``cut``, the threshold, nearest first.

    ``first`` (p,) are positions in one set and ``second`` (p,) in another, or in the same set with ``first`` as the
    lower one. ``mirrored`` (p,) marks pairs that match the mirror image of the first. ``seen`` (n,) are the images of
    the first set that could be compared, and ``nearest`` (n,) the distances to their nearest neighbors (NaN: unknown).
    The number of neighbors per image is limited: ``crowded`` images may have more. ``confirmed`` (p,) marks the pairs
    that are near duplicates by their pixels, too; None if that was not examined, and all pairs count.
    """

    distance: Distance
    cut: float
    first: IntArray
    second: IntArray
    values: FloatArray
    mirrored: BoolArray
    seen: BoolArray
    nearest: FloatArray
    crowded: int = 0
    note: str = ""
    confirmed: BoolArray | None = None

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.values) == len(self.mirrored):
            raise InputError("first, second, values and mirrored must have the same length")
        if self.confirmed is not None and len(self.confirmed) != len(self.first):
            raise InputError("confirmed must have one entry per pair")
        if len(self.seen) != len(self.nearest):
            raise InputError("seen and nearest must have one entry per image")
        if np.any(self.values > self.cut):
            raise InputError(f"the distance of a pair is above the threshold of {self.cut:g}")

    def __len__(self) -> int:
        return len(self.first)

    def where(self, kept: BoolArray) -> NearPairs:
        """The pairs of a mask (p,)."""
        columns = {name: getattr(self, name)[kept] for name in ("first", "second", "values", "mirrored")}
        return replace(self, **columns, confirmed=None if self.confirmed is None else self.confirmed[kept])

    @property
    def duplicates(self) -> NearPairs:
        """The pairs that are confirmed."""
        return self if self.confirmed is None else self.where(self.confirmed)
