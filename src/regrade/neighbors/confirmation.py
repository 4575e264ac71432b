"""Confirm candidates by their pixels: hashes and features are alike for many images that are different.

Small images have too little structure for hashes and DSSIM, and small or flat ones a small distance of pixels: the
relative difference compares the pixels with how much they vary within the images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regrade.core import Distance, NearPairs, UnreadableImage
from regrade.core.arrays import IntArray
from regrade.core.cores import on_all_cores
from regrade.neighbors.image_search import ProgressCallback, dssim, no_progress, window_moments
from regrade.neighbors.search import default_threshold
from regrade.neighbors.signatures import SIZE, SMALL_SIDE, scaled

TINY_SIDE = 16
"""Images with fewer pixels than a square of this side are tiny: different images may differ less than copies do."""

CONFIRMED_DIFFERENCE = 0.05
"""The largest relative difference that confirms a pair of images that are not small."""

CONFIRMED_SMALL_DIFFERENCE = 0.01
"""The largest relative difference that confirms a pair with a small image; a tiny one must have equal pixels."""

_DSSIM_DIFFERENCE = 0.3  # up to this relative difference, DSSIM may confirm a pair instead
_SIDE = 64  # at which relative differences are measured
_CACHED = 4096  # images at that side, 12 kB each
_BLOCK = 256  # pairs per task

Decoder = Callable[[int], NDArray[np.uint8]]
"""Decodes the image at a position; raises `UnreadableImage` for one that can no longer be read."""


def relative_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The squared difference of two images of the same size relative to their variation: 0 if equal, 1 if unrelated.

    Both images less their means; the denominator is the sum of their squares. It is at most 2, and 1 if either image
    has a single value, since nothing can be compared then.

    >>> image = np.array([[[0], [2]]], dtype=np.uint8)
    >>> relative_difference(image, image + 1), relative_difference(image, image[:, ::-1])
    (0.0, 2.0)
    """
    x, y = first.astype(np.int32), second.astype(np.int32)
    variations = [_covariation(x, x), _covariation(y, y)]
    return 1 - 2 * _covariation(x, y) / sum(variations) if min(variations) else 1.0


def _covariation(x: IntArray, y: IntArray) -> int:
    """The covariance times the square of the number of values, in integers: without rounding, and without BLAS."""
    return x.size * int((x * y).sum(dtype=np.int64)) - int(x.sum(dtype=np.int64)) * int(y.sum(dtype=np.int64))


def with_confirmation(
    pairs: Sequence[NearPairs], first: Decoder, second: Decoder, *, progress: ProgressCallback = no_progress
) -> tuple[NearPairs, ...]:
    """Mark which pairs of each distance are near duplicates by their pixels; equal pixels need no confirmation.

    The relative difference, at 64 x 64, must be at most `CONFIRMED_DIFFERENCE`; or the default threshold of DSSIM
    confirms a pair up to a relative difference of 0.3. Where one of the images is small, it must be at most
    `CONFIRMED_SMALL_DIFFERENCE`, and pairs with a tiny image are not confirmed. Images that can no longer be read do
    not confirm anything.
    """
    inexact = [near for near in pairs if near.distance is not Distance.EXACT]
    columns = [np.column_stack([near.first, near.second, near.mirrored]).astype(np.int64) for near in inexact]
    if not columns:
        return tuple(pairs)
    rows, places = np.unique(np.concatenate(columns), axis=0, return_inverse=True)
    confirmed = np.array(list(_confirmed(rows, _Images(first), _Images(second), progress)), dtype=bool)[places.ravel()]
    parts = iter(np.split(confirmed, np.cumsum([len(column) for column in columns])[:-1]))
    return tuple(near if near.distance is Distance.EXACT else replace(near, confirmed=next(parts)) for near in pairs)


@dataclass(frozen=True, eq=False)
class _Images:
    """The images of one side with their numbers of pixels, and at the side of relative differences."""

    decode: Decoder
    small: Callable[[int], tuple[NDArray[np.uint8], int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "small", lru_cache(_CACHED)(self._small))

    def _small(self, position: int) -> tuple[NDArray[np.uint8], int]:
        image = self.decode(position)
        return scaled(image, _SIDE), image.shape[0] * image.shape[1]


def _confirmed(rows: IntArray, first: _Images, second: _Images, progress: ProgressCallback) -> Iterator[bool]:
    """Whether each pair (first, second, mirrored) is confirmed, in order."""

    def work(start: int) -> list[bool]:
        return [_is_confirmed(first, second, *row) for row in rows[start : start + _BLOCK].tolist()]

    blocks = on_all_cores(work, range(0, len(rows), _BLOCK))
    yield from progress((is_confirmed for block in blocks for is_confirmed in block), len(rows))  # type: ignore[misc]


def _is_confirmed(first: _Images, second: _Images, i: int, j: int, mirrored: int) -> bool:
    try:
        (image, area), (similar, similar_area) = first.small(i), second.small(j)
        pixels = min(area, similar_area)
        if pixels < TINY_SIDE**2:
            return False
        difference = relative_difference(image[:, ::-1] if mirrored else image, similar)
        if pixels < SMALL_SIDE**2:
            return difference <= CONFIRMED_SMALL_DIFFERENCE
        if difference <= CONFIRMED_DIFFERENCE or difference > _DSSIM_DIFFERENCE:
            return difference <= CONFIRMED_DIFFERENCE
        whole, reference = scaled(first.decode(i), SIZE), scaled(second.decode(j), SIZE)
    except UnreadableImage:
        return False
    measured = dssim(window_moments(whole[:, ::-1] if mirrored else whole), window_moments(reference))
    return measured <= default_threshold(Distance.DSSIM)
