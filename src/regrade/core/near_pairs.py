"""Pairs of near-duplicate images under one distance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError


class Distance(Enum):
    """Distances between two images; 0 means equal under each of them."""

    EXACT = "exact"
    """0 if the decoded pixels are equal."""
    PIXELS = "pixels"
    """Squared Euclidean distance of gray levels at a common size (Recht et al. 2019)."""
    DSSIM = "dssim"
    """(1 - SSIM) / 2 at a common size (Recht et al. 2019)."""
    PHASH = "phash"
    """Number of different bits of the perceptual hashes, of 64."""
    FEATURES = "features"
    """1 - cosine similarity of the embeddings of a model (Vasudevan et al. 2022)."""


@dataclass(frozen=True, eq=False)
class NearPairs:
    """The pairs of images with a distance of at most ``cut``, the threshold, nearest first.

    ``first`` (p,) are positions in one set and ``second`` (p,) in another, or in the same set with ``first`` as the
    lower one. ``mirrored`` (p,) marks pairs that match the mirror image of the first. ``seen`` (n,) are the images of
    the first set that could be compared, and ``nearest`` (n,) the distances to their nearest neighbors (NaN: unknown).
    The number of neighbors per image is limited: ``crowded`` images may have more.
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

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.values) == len(self.mirrored):
            raise InputError("first, second, values and mirrored must have the same length")
        if len(self.seen) != len(self.nearest):
            raise InputError("seen and nearest must have one entry per image")
        if np.any(self.values > self.cut):
            raise InputError(f"the distance of a pair is above the threshold of {self.cut:g}")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def found(self) -> BoolArray:
        """Shape (n,): the images of the first set with a neighbor within the threshold in the second."""
        inside = np.zeros(len(self.seen), dtype=bool)
        inside[self.first] = True
        return inside
