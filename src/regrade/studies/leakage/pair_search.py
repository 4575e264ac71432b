"""Search for pairs of near duplicates that people decide about, and store them in the workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regrade.core import Distance, ImagePair, NearPairs, PairSearch, PairSide, TestSet
from regrade.core.arrays import IntArray
from regrade.neighbors import ImageCollection
from regrade.studies.leakage.search import ImageSet, SearchOptions, check_readable, find_pairs, stored_side
from regrade.studies.leakage.signatures import ImageProgress

if TYPE_CHECKING:
    from regrade.store import Store


def search_pairs(
    store: Store,
    test_set: TestSet,
    against: TestSet | None,
    search: SearchOptions,
    *,
    images: Sequence[str] | None = None,
    sources: Sequence[str] = (),
    build: str = "",
    progress: ImageProgress,
) -> PairSearch:
    """Find and store the near duplicates of ``images`` (default: all) in another test set, or among themselves.

    The thresholds of the search are the targets up to which pairs are listed, and ``search.most`` is the number of
    neighbors per image and distance. Within a set, pairs are skipped if their ``sources`` (n,) are equal and not
    empty, unless their pixels are equal too. The same search again reads the stored pairs.
    """
    first = stored_side(store, test_set, search, progress)
    chosen = range(len(test_set)) if images is None else [test_set.position(image) for image in images]
    first = _comparable(first, np.array(chosen, dtype=np.int64))
    second = None if against is None else stored_side(store, against, search, progress)
    if second is not None:
        check_readable(second)
    reference = test_set if against is None else against
    question = PairSearch(
        test_set.name,
        test_set.digest,
        reference.name,
        reference.digest,
        {distance.value: target for distance, target in search.thresholds.items() if distance is not Distance.EXACT},
        search.most,
        search.size,
        search.model or "",
        build,
        tuple(first.examples.ids),
    )
    stored = store.pair_searches.stored(question)
    if stored is None:
        by_image = dict(zip(test_set.ids, sources, strict=False)) if against is None else {}
        own_sources = [by_image.get(image, "") for image in first.examples.ids]
        stored = _searched(question, tuple(find_pairs(first, second, search, progress)), first, second, own_sources)
    store.pair_searches.append(stored)
    return stored


def _comparable(side: ImageSet, rows: IntArray) -> ImageSet:
    """The images at these positions that can be compared: readable, and with finite embeddings."""
    if side.collection is not None:
        rows = rows[side.collection.signatures.readable[rows]]
    if side.features is not None:
        rows = rows[np.isfinite(np.asarray(side.features[rows], dtype=np.float32)).all(axis=1)]
    features = None if side.features is None else np.asarray(side.features[rows])
    collection = None if side.collection is None else _collection_at(side.collection, rows)
    return replace(
        side,
        examples=side.examples.subset(side.examples.name, rows.tolist()),
        collection=collection,
        features=features,
    )


def _collection_at(collection: ImageCollection, rows: IntArray) -> ImageCollection:
    def image(position: int) -> NDArray[np.uint8]:
        return collection.image(int(rows[position]))

    return ImageCollection(collection.signatures[rows], image)


def _searched(
    question: PairSearch,
    near_pairs: Sequence[NearPairs],
    first: ImageSet,
    second: ImageSet | None,
    sources: Sequence[str],
) -> PairSearch:
    ids, references = first.examples.ids, (second or first).examples.ids
    distances: dict[tuple[int, int], dict[str, tuple[float, bool]]] = {}
    same_source = set()
    for near in near_pairs:
        for i, j, value, mirrored in _first_neighbors(near, question.neighbors, within=second is None):
            if near.distance is not Distance.EXACT and second is None and sources[i] and sources[i] == sources[j]:
                same_source.add((i, j))
            else:
                distances.setdefault((i, j), {})[near.distance.value] = (value, mirrored)
    pairs = tuple(
        ImagePair(
            PairSide(question.test_set, ids[i]),
            PairSide(question.against, references[j]),
            {name: value for name, (value, _) in by.items()},
            all(mirrored for _, mirrored in by.values()),
        )
        for (i, j), by in sorted(distances.items())
    )
    skipped = len(same_source - distances.keys())
    return replace(question, pairs=pairs, same_source=skipped, crowded=max(near.crowded for near in near_pairs))


def _first_neighbors(near: NearPairs, most: int, *, within: bool) -> Iterable[tuple[int, int, float, bool]]:
    """The pairs in which one image is among the first neighbors of the other; pairs are sorted by distance."""
    ranks: Counter[int] = Counter()
    columns = (near.first, near.second, near.values, near.mirrored)
    for i, j, value, mirrored in zip(*(column.tolist() for column in columns), strict=True):
        if ranks[i] < most or (within and ranks[j] < most):
            yield i, j, value, mirrored
        ranks[i] += 1
        if within:
            ranks[j] += 1
