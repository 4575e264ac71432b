"""Pairs of images that are alike, by one way of telling."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError


class Distance(Enum):
    """How far apart two images are; 0 is the same under every one of them."""

    EXACT = "exact"
    """0 where the decoded pixels are the same."""
    PIXELS = "pixels"
    """Squared Euclidean distance of gray levels at a common size (Recht et al. 2019)."""
    DSSIM = "dssim"
    """(1 - SSIM) / 2 at a common size (Recht et al. 2019)."""
    PHASH = "phash"
    """Bits in which perceptual hashes differ, of 64."""
    FEATURES = "features"
    """1 - cosine of what a model's last layer saw (Vasudevan et al. 2022)."""


@dataclass(frozen=True, eq=False)
class NearPairs:
    """The pairs that one distance puts within ``cut`` of each other, the nearest first.

    ``first`` (p,) are positions in one set and ``second`` (p,) in another, or in the same set where ``first`` is always
    the lower. ``mirrored`` (p,) says that it is the mirror image of the first that is so near. ``seen`` (n,) are the
    images of the first set that could be compared, and ``nearest`` (n,) how far their nearest neighbors are, not a
    number where that was not measured. A image lists at most so many neighbors: ``crowded`` images may have more.
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
            raise InputError("pairs must have as many firsts, seconds, values and mirrored")
        if len(self.seen) != len(self.nearest):
            raise InputError("seen and nearest must have one entry a image")
        if np.any(self.values > self.cut):
            raise InputError(f"a pair is further apart than the cut of {self.cut:g}")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def found(self) -> BoolArray:
        """Shape (n,): the images of the first set that have a neighbor within the cut in the second."""
        inside = np.zeros(len(self.seen), dtype=bool)
        inside[self.first] = True
        return inside
