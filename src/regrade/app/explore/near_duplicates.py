"""Near duplicates of an image, by stored perceptual hashes or by a model's stored embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.app.cache import RecentCache, signatures_stamp
from regrade.app.explore.answer_table import AnswerTable
from regrade.core import InputError, Signatures, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.neighbors import Metric, nearest
from regrade.store import SignatureKey, Store

MAX_NEIGHBORS = 8
"""Neighbors shown on a page."""

_BIT_COUNTS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    axis=1, dtype=np.uint8
)  # per byte value
_EXCLUDED = 255
_MAX_BITS = 20  # of 64; images that differ in more bits are unrelated


@dataclass(frozen=True)
class Neighbor:
    """A near image, and its distance as text."""

    position: int
    words: str


class NearDuplicateFinder:
    """Finds near duplicates within one test set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hashes: RecentCache[Signatures | None] = RecentCache(8)

    def by_hash(self, test_set: TestSet, position: int, *, hidden: BoolArray) -> list[Neighbor] | None:
        """The images with the nearest perceptual hash, also when mirrored; None if no hashes are stored.

        ``hidden`` images (n,) are left out.
        """
        stamp = signatures_stamp(self._store, test_set.name)
        stored = self._hashes.get(test_set.name, lambda: _stored(self._store, test_set), stamp=stamp)
        if stored is None or not stored.readable[position]:
            return None
        hashes = stored.phashes
        straight = _hamming_distances(hashes[:, 0], hashes[position, 0])
        mirrored = _hamming_distances(hashes[:, 1], hashes[position, 0])
        bits = np.where(stored.readable & ~hidden, np.minimum(straight, mirrored), _EXCLUDED)
        bits[position] = _EXCLUDED
        candidates = np.flatnonzero(bits <= _MAX_BITS)
        order = candidates[np.argsort(bits[candidates], kind="stable")][:MAX_NEIGHBORS]
        return [
            Neighbor(int(near), f"{bits[near]} bits" + (", mirrored" if mirrored[near] < straight[near] else ""))
            for near in order
        ]

    def by_features(self, answers: AnswerTable, model: str, position: int) -> list[Neighbor]:
        """The images with the smallest cosine distance between a model's embeddings."""
        row = answers.rows[answers.place(model)]
        features = self._store.predictions.read(answers.test_set, model).features if row.has_features else None
        if features is None:
            raise InputError(f"no features of {model} on {answers.test_set.name} are stored: predict --keep features")
        k = min(MAX_NEIGHBORS + 1, len(features))
        neighbors = nearest(np.asarray(features[position : position + 1]), features, k=k, metric=Metric.COSINE)
        pairs = zip(neighbors.indices[0].tolist(), neighbors.distances[0].tolist(), strict=True)
        return [Neighbor(near, f"{distance:.3f}") for near, distance in pairs if near not in (position, -1)][
            :MAX_NEIGHBORS
        ]


def _hamming_distances(hashes: NDArray[np.uint64], reference: np.uint64) -> IntArray:
    differing = np.ascontiguousarray(hashes ^ reference).view(np.uint8).reshape(-1, 8)
    return np.asarray(_BIT_COUNTS[differing].sum(axis=1, dtype=np.uint8))


def _stored(store: Store, test_set: TestSet) -> Signatures | None:
    if not store.images.has(test_set.name):
        return None
    source = store.images.read(test_set)
    sizes = sorted(store.signatures.sizes(test_set.name))
    return next(
        (stored for size in sizes if (stored := store.signatures.read(test_set.name, SignatureKey(source, size)))), None
    )
