"""Pairs of alike images by looking at the candidates again: pixel by pixel, and by structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Distance, MismatchError, NearPairs, UnreadableImage
from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.cores import on_all_cores
from regrade.neighbors.collection import Collection
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.merging import Edges, edges_of, merged
from regrade.neighbors.nearest import nearest
from regrade.neighbors.search import NEIGHBORS, crowded_rows, near_pairs, phash_pairs
from regrade.neighbors.ssim import WindowMoments, dssim, squared_difference
from regrade.neighbors.thresholds import default_cut

WORTH_A_LOOK = 18.0
"""How many bits of perceptual hashes may differ where it is still worth to measure DSSIM."""

ProgressCallback = Callable[[Iterable[object], int], Iterable[object]]
"""Goes through things, given how many there are, showing how far it is."""

_MEASURES: Mapping[Distance, Callable[[WindowMoments, WindowMoments], float]] = {
    Distance.PIXELS: squared_difference,
    Distance.DSSIM: dssim,
}


def unwatched(seen: Iterable[Any], total: int) -> Iterable[Any]:  # noqa: ARG001
    """Show nothing."""
    return seen


def image_pairs(
    first: Collection,
    second: Collection | None = None,
    *,
    cuts: Mapping[Distance, float],
    k: int = NEIGHBORS,
    engine: NeighborEngine = NeighborEngine.NUMPY,
    watch: ProgressCallback = unwatched,
) -> tuple[NearPairs, ...]:
    """Images, or their mirror images, that pixels or DSSIM put within their ``cuts``, one entry a distance asked for.

    Thumbnails say which pairs can be within the cut of pixels: block means are never further apart than the images
    themselves, so that no pair is missed, unless a image has more than ``k`` candidates. DSSIM is measured on these
    candidates and on pairs whose perceptual hashes differ in at most `WORTH_A_LOOK` bits, not on all pairs.
    """
    others = first if second is None else second
    size = first.signatures.size
    if size != others.signatures.size:
        raise MismatchError(f"images signed at sizes {size} and {others.signatures.size} cannot be compared")
    limit = cuts.get(Distance.PIXELS, default_cut(Distance.PIXELS, size=size))
    near = _by_thumbnails(first, second, limit=limit, k=k, engine=engine)
    parts = [near.candidates]
    if Distance.DSSIM in cuts:
        known = None if second is None else second.signatures
        by_hash = phash_pairs(first.signatures, known, cut=WORTH_A_LOOK, k=k, engine=engine)
        parts.append(Edges(by_hash.first, by_hash.second, by_hash.values, by_hash.mirrored))
    candidates = _each_once(parts)
    measured = _measured(first, others, candidates, list(cuts), watch)
    return tuple(
        _pairs(distance, cut, candidates, values, near, within=second is None, readable=first.signatures.readable)
        for (distance, cut), values in zip(cuts.items(), measured, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Near:
    """What thumbnails tell: candidates, how far each image's nearest one may be, and how many have too many."""

    candidates: Edges
    nearest: FloatArray
    crowded: int


def _by_thumbnails(
    first: Collection, second: Collection | None, *, limit: float, k: int, engine: NeighborEngine
) -> _Near:
    others = first if second is None else second
    own, known = np.asarray(first.signatures.thumbnails), np.asarray(others.signatures.thumbnails)
    numbers = int(np.prod(own.shape[1:]))
    block = (first.signatures.size // own.shape[1]) ** 2  # pixels that a thumbnail's pixel is the mean of
    reach = (np.sqrt(limit / block) + np.sqrt(numbers)) ** 2  # rounding moves either end by half a gray level
    found = [
        nearest(rows.reshape(len(own), -1), known.reshape(len(known), -1), k=k, within=second is None,
                usable=others.signatures.readable, engine=engine)
        for rows in (own, own[:, :, ::-1])
    ]  # fmt: skip
    readable = first.signatures.readable
    edges = merged([edges_of(part, mirrored=way > 0) for way, part in enumerate(found)], within=second is None)
    least = block * np.fmin.reduce([part.distances[:, 0] for part in found])
    crowded = int(readable[crowded_rows(found, reach)].sum())
    candidates = edges[(edges.values <= reach) & readable[edges.first]]
    return _Near(candidates, np.where(readable, least, np.nan), crowded)


def _each_once(parts: list[Edges]) -> Edges:
    """Candidates of several kinds, those of one image after another: it is then decoded once."""
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "mirrored")]
    rows = np.unique(np.column_stack(columns).astype(np.int64), axis=0)
    return Edges(rows[:, 0], rows[:, 1], np.zeros(len(rows)), rows[:, 2].astype(bool))


def _measured(
    first: Collection, others: Collection, candidates: Edges, distances: list[Distance], watch: ProgressCallback
) -> FloatArray:
    """Shape (distances, candidates): not a number where a image can no longer be read."""

    def one(place: int) -> list[float]:
        i, j = int(candidates.first[place]), int(candidates.second[place])
        try:
            here, there = first.moments(i, mirrored=bool(candidates.mirrored[place])), others.moments(j)
        except UnreadableImage:
            return [np.nan] * len(distances)
        return [_MEASURES[distance](here, there) for distance in distances]

    values = np.full((len(distances), len(candidates)), np.nan)
    for place, row in enumerate(watch(on_all_cores(one, range(len(candidates))), len(candidates))):
        values[:, place] = row
    return values


def _pairs(
    distance: Distance,
    cut: float,
    candidates: Edges,
    values: FloatArray,
    near: _Near,
    *,
    within: bool,
    readable: BoolArray,
) -> NearPairs:
    lost = int(np.isnan(values).sum())
    seen = Edges(candidates.first, candidates.second, values, candidates.mirrored)[~np.isnan(values)]
    least = np.full(len(readable), np.nan)
    for side in (seen.first, seen.second) if within else (seen.first,):
        np.fmin.at(least, side, seen.values)
    if distance is Distance.PIXELS:
        least = np.where(np.isnan(least), near.nearest, least)
    edges = merged([seen[seen.values <= cut]], within=within)
    note = f"{lost:,} candidates could not be seen again" if lost else ""
    return near_pairs(distance, cut, edges, readable, least, crowded=near.crowded, note=note)
