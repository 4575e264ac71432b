"""Find pairs of near duplicates by comparing the decoded candidates: pixel by pixel, and by structure (DSSIM)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import Distance, InputError, MismatchError, NearPairs, Signatures, UnreadableImage
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.cores import on_all_cores
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.nearest import nearest
from regrade.neighbors.search import (
    NEIGHBORS,
    Edges,
    crowded_rows,
    default_threshold,
    edges_of,
    merged,
    near_pairs,
    phash_pairs,
)
from regrade.neighbors.signatures import SMALL_SIDE, scaled

WINDOW = 35
"""Side length of the windows of SSIM (Recht et al. 2019)."""

_MAX_WINDOW = 256  # larger windows have sums of squares that do not fit into 32 bits
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # avoid division by zero in flat windows (Wang et al. 2004)

PHASH_CANDIDATE_BITS = 18.0
"""Pairs whose perceptual hashes differ in at most this many bits are candidates for DSSIM."""

ProgressCallback = Callable[[Iterable[object], int], Iterable[object]]
"""Iterates over items, given their number, and shows the progress."""

_CACHED = 24  # images with their window moments, about 4 MB each
_CACHED_SQUARES = 256  # images at the common size, about 200 kB each


@dataclass(frozen=True, eq=False)
class WindowMoments:
    """An image with the sum, mean and variance of every window inside it, per channel."""

    pixels: IntArray
    window: int
    sums: IntArray
    means: FloatArray
    variances: FloatArray


def window_moments(pixels: NDArray[np.uint8], *, window: int = WINDOW) -> WindowMoments:
    """The window moments of an image (height, width, 3); computed once, they serve many comparisons."""
    if not 2 <= window <= min(*pixels.shape[:2], _MAX_WINDOW):
        raise InputError(f"a window of {window} does not fit an image of {pixels.shape[1]} x {pixels.shape[0]}")
    wide = np.ascontiguousarray(np.moveaxis(pixels, -1, 0), dtype=np.uint32)
    sums, squares, n = _window_sums(wide, window), _window_sums(wide * wide, window), window**2
    means = sums / n
    return WindowMoments(wide, window, sums, means, (squares - sums * means) / (n - 1))


def dssim(first: WindowMoments, second: WindowMoments) -> float:
    """(1 - SSIM) / 2 of two images of the same size: 0 for equal images, at most 1.

    SSIM is the mean over windows and channels, with uniform windows, sample covariances and the usual constants (Wang
    et al. 2004).
    """
    if first.pixels.shape != second.pixels.shape or first.window != second.window:
        raise InputError("two images must have the same size and the same window to be compared")
    products = _window_sums(first.pixels * second.pixels, first.window)
    covariance = (products - first.sums * second.means) / (first.window**2 - 1)
    ssim = (2 * first.means * second.means + _C1) * (2 * covariance + _C2)
    ssim /= (first.means**2 + second.means**2 + _C1) * (first.variances + second.variances + _C2)
    return float(min(max((1 - ssim.mean()) / 2, 0.0), 1.0))


def squared_difference(first: WindowMoments, second: WindowMoments) -> float:
    """The squared Euclidean distance of two images of the same size, over all pixels and channels."""
    return _squared(first.pixels, second.pixels)


def _squared(first: NDArray[Any], second: NDArray[Any]) -> float:
    difference = np.subtract(first, second, dtype=np.int32, casting="unsafe")
    return float(np.square(difference).sum(dtype=np.int64))  # a BLAS product would start threads within threads


def _window_sums(values: IntArray, window: int) -> IntArray:
    """Exact sums over windows (c, h - window + 1, w - window + 1) of integers (c, h, w).

    Cumulative sums may overflow 32 bits and wrap around; the differences of two are still right.
    """
    total = np.zeros((values.shape[0], values.shape[1] + 1, values.shape[2] + 1), dtype=np.uint32)
    np.cumsum(values, axis=1, dtype=np.uint32, out=total[:, 1:, 1:])
    np.cumsum(total[:, 1:, 1:], axis=2, dtype=np.uint32, out=total[:, 1:, 1:])
    tall = total[:, window:] - total[:, :-window]
    return tall[:, :, window:] - tall[:, :, :-window]


def no_progress(seen: Iterable[Any], total: int) -> Iterable[Any]:  # noqa: ARG001
    """Report no progress."""
    return seen


def image_pairs(
    first: ImageCollection,
    second: ImageCollection | None = None,
    *,
    thresholds: Mapping[Distance, float],
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
    progress: ProgressCallback = no_progress,
) -> tuple[NearPairs, ...]:
    """Pairs of images, or mirror images, within the ``thresholds`` of pixels or DSSIM, one entry per distance.

    Candidates for pixels are found by thumbnails: the distance of block means is a lower bound of that of the images,
    so no pair is missed unless an image has more than ``k`` candidates. DSSIM is measured only on these candidates and
    on pairs whose perceptual hashes differ in at most `PHASH_CANDIDATE_BITS` bits; not on images smaller than
    `SMALL_SIDE`, where its windows are a few pixels wide.
    """
    references = first if second is None else second
    size = first.signatures.size
    if size != references.signatures.size:
        raise MismatchError(
            f"signatures at sizes {size} and {references.signatures.size} cannot be compared: use the same size"
        )
    limit = thresholds.get(Distance.PIXELS, default_threshold(Distance.PIXELS, size=size))
    near = _by_thumbnails(first, second, limit=limit, k=k, engine=engine)
    parts = [near.candidates]
    if Distance.DSSIM in thresholds:
        signatures = None if second is None else second.signatures
        by_hash = phash_pairs(first.signatures, signatures, threshold=PHASH_CANDIDATE_BITS, k=k, engine=engine)
        edges = Edges(by_hash.first, by_hash.second, by_hash.values, by_hash.mirrored)
        parts.append(edges[_are_large(first, references, edges)])
    candidates = _unique(parts)
    measured = _measured(first, references, candidates, list(thresholds), progress)
    return tuple(
        _pairs(distance, threshold, candidates, values, near, within=second is None, readable=first.signatures.readable)
        for (distance, threshold), values in zip(thresholds.items(), measured, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _ThumbnailSearch:
    """Candidates, a lower bound of each image's smallest distance, and how many images have too many candidates."""

    candidates: Edges
    nearest: FloatArray
    crowded: int


def _by_thumbnails(
    first: ImageCollection, second: ImageCollection | None, *, limit: float, k: int, engine: NeighborEngine
) -> _ThumbnailSearch:
    references = first if second is None else second
    queries, targets = np.asarray(first.signatures.thumbnails), np.asarray(references.signatures.thumbnails)
    values_per_thumbnail = int(np.prod(queries.shape[1:]))
    block = (first.signatures.size // queries.shape[1]) ** 2  # pixels per pixel of a thumbnail
    reach = (np.sqrt(limit / block) + np.sqrt(values_per_thumbnail)) ** 2  # rounding adds half a gray level at each end
    parts = [
        nearest(rows.reshape(len(queries), -1), targets.reshape(len(targets), -1), k=k, within=second is None,
                usable=references.signatures.readable, engine=engine)
        for rows in (queries, queries[:, :, ::-1])
    ]  # fmt: skip
    readable = first.signatures.readable
    edges = merged([edges_of(part, mirrored=index > 0) for index, part in enumerate(parts)], within=second is None)
    smallest = block * np.fmin.reduce([part.distances[:, 0] for part in parts])
    crowded = int(readable[crowded_rows(parts, reach)].sum())
    candidates = edges[(edges.values <= reach) & readable[edges.first]]
    return _ThumbnailSearch(candidates, np.where(readable, smallest, np.nan), crowded)


def _unique(parts: list[Edges]) -> Edges:
    """Unique candidates, sorted by image, so that each image is decoded once."""
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "mirrored")]
    rows = np.unique(np.column_stack(columns).astype(np.int64), axis=0)
    return Edges(rows[:, 0], rows[:, 1], np.zeros(len(rows)), rows[:, 2].astype(bool))


def _are_large(first: ImageCollection, references: ImageCollection, pairs: Edges) -> BoolArray:
    """Shape (p,): the pairs of which neither image is small."""
    sides = ((first, pairs.first), (references, pairs.second))
    areas = [np.asarray(side.signatures.areas)[positions] for side, positions in sides]
    return np.asarray(np.minimum(*areas) >= SMALL_SIDE**2)


def _measured(
    first: ImageCollection,
    references: ImageCollection,
    candidates: Edges,
    distances: list[Distance],
    progress: ProgressCallback,
) -> FloatArray:
    """Shape (distances, candidates): NaN if an image can no longer be read, infinite for DSSIM if one is small."""
    large = _are_large(first, references, candidates).tolist()

    def measure(index: int) -> list[float]:
        i, j = int(candidates.first[index]), int(candidates.second[index])
        try:
            return [measured(distance, i, j, index) for distance in distances]
        except UnreadableImage:
            return [np.nan] * len(distances)

    def measured(distance: Distance, i: int, j: int, index: int) -> float:
        mirrored = bool(candidates.mirrored[index])
        if distance is Distance.PIXELS:
            return _squared(first.square(i, mirrored=mirrored), references.square(j))
        return dssim(first.moments(i, mirrored=mirrored), references.moments(j)) if large[index] else np.inf

    values = np.full((len(distances), len(candidates)), np.nan)
    for index, row in enumerate(progress(on_all_cores(measure, range(len(candidates))), len(candidates))):
        values[:, index] = row
    return values


def _pairs(
    distance: Distance,
    threshold: float,
    candidates: Edges,
    values: FloatArray,
    near: _ThumbnailSearch,
    *,
    within: bool,
    readable: BoolArray,
) -> NearPairs:
    unreadable = int(np.isnan(values).sum())
    measured = Edges(candidates.first, candidates.second, values, candidates.mirrored)[~np.isnan(values)]
    smallest = np.full(len(readable), np.nan)
    for side in (measured.first, measured.second) if within else (measured.first,):
        np.fmin.at(smallest, side, measured.values)
    if distance is Distance.PIXELS:
        smallest = np.where(np.isnan(smallest), near.nearest, smallest)
    edges = merged([measured[measured.values <= threshold]], within=within)
    note = f"{unreadable:,} candidates could not be read again" if unreadable else ""
    return near_pairs(distance, threshold, edges, readable, smallest, crowded=near.crowded, note=note)


@dataclass(frozen=True, eq=False)
class ImageCollection:
    """The signatures of images, and ``image``, which decodes the image at a position.

    Only candidates are decoded again; ``image`` raises `UnreadableImage` for one that can no longer be read.
    """

    signatures: Signatures
    image: Callable[[int], NDArray[np.uint8]]
    _squares: Callable[[int], NDArray[np.uint8]] = field(init=False, repr=False)
    _moments: Callable[[int, bool], WindowMoments] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_squares", lru_cache(_CACHED_SQUARES)(self._scaled))
        object.__setattr__(self, "_moments", lru_cache(_CACHED)(self._compute))

    def __len__(self) -> int:
        return len(self.signatures)

    def square(self, position: int, *, mirrored: bool = False) -> NDArray[np.uint8]:
        """The image at a position, or its mirror image, at the common size."""
        square = self._squares(position)
        return square[:, ::-1] if mirrored else square

    def moments(self, position: int, *, mirrored: bool = False) -> WindowMoments:
        """The window moments of the image at a position, or of its mirror image, at the common size."""
        return self._moments(position, mirrored)

    def _compute(self, position: int, mirrored: bool) -> WindowMoments:
        return window_moments(self.square(position, mirrored=mirrored), window=min(WINDOW, self.signatures.size))

    def _scaled(self, position: int) -> NDArray[np.uint8]:
        return scaled(self.image(position), self.signatures.size)
