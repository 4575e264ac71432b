"""Which drawn images are also in other test sets: by id, by equal pixels, and by the distances of near duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.build.pool_images import source_of
from regrade.core import Distance, InputError, NearPairs, TestSet
from regrade.studies.leakage.search import ImageSet, SearchOptions, find_duplicates
from regrade.studies.leakage.signatures import ImageProgress, collection_of


@dataclass(frozen=True)
class NearImage:
    """A drawn image and a similar one of another set, or of the same."""

    image: str
    similar: str
    distance: str
    value: float


@dataclass(frozen=True)
class Overlap:
    """The drawn images that another set has, too; ``near`` are those that are similar, and not equal.

    ``compared`` is false if the pixels of one of the sets are not at hand, ``searched_near`` if only equal images were
    searched. ``unreadable`` counts images that could not be read.
    """

    test_set: str
    same_ids: tuple[str, ...]
    exact: tuple[NearImage, ...] = ()
    near: tuple[NearImage, ...] = ()
    compared: bool = False
    searched_near: bool = False
    unreadable: int = 0


def part_of(side: ImageSet, images: Sequence[str]) -> ImageSet:
    """The images of these ids, in this order."""
    if side.source is None or side.collection is None:
        raise InputError(f"{side.examples.name} has no images")
    rows = [side.examples.position(image) for image in images]
    source = source_of(side.source, [side.source.locations[row] for row in rows])
    signatures = side.collection.signatures[np.array(rows, dtype=np.int64)]
    whole = replace(side.examples, groups={}, slice_sets=())
    return ImageSet(whole.subset(side.examples.name, rows), source, collection_of(signatures, source))


def same_ids(drawn: Sequence[str], test_set: TestSet) -> Overlap:
    """The drawn images with an id that another set has, too."""
    return Overlap(test_set.name, tuple(image for image in drawn if image in test_set.position_of))


def find_overlap(
    overlap: Overlap, drawn: ImageSet, against: ImageSet | None, search: SearchOptions, progress: ImageProgress
) -> Overlap:
    """Add the pixels: search drawn images in another set, or among themselves if ``against`` is None."""
    theirs = drawn if against is None else against
    exact: dict[tuple[int, int], NearImage] = {}
    near: dict[tuple[int, int], NearImage] = {}
    for pairs in find_duplicates(drawn, against, search, progress):
        target = exact if pairs.distance is Distance.EXACT else near
        for key, pair in _pairs(pairs.duplicates, drawn, theirs):
            target.setdefault(key, pair)
    return replace(
        overlap,
        exact=tuple(exact.values()),
        near=tuple(pair for key, pair in near.items() if key not in exact),
        compared=True,
        searched_near=set(search.thresholds) != {Distance.EXACT},
        unreadable=len(drawn.unreadable) + (0 if against is None else len(against.unreadable)),
    )


def _pairs(pairs: NearPairs, drawn: ImageSet, theirs: ImageSet) -> list[tuple[tuple[int, int], NearImage]]:
    rows = zip(pairs.first.tolist(), pairs.second.tolist(), pairs.values.tolist(), strict=True)
    return [
        (
            (first, second),
            NearImage(drawn.examples.ids[first], theirs.examples.ids[second], pairs.distance.value, value),
        )
        for first, second, value in rows
    ]
