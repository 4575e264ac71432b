"""Images that look like one: by perceptual hashes that are stored, or by a model's stored features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.app.explore.answer_table import AnswerTable
from regrade.app.explore.recent_cache import RecentCache
from regrade.core import InputError, Signatures, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.neighbors import Metric, nearest
from regrade.store import SignatureKey, Store
from regrade.store.names import file_name

SHOWN = 8
"""Neighbors that a page shows."""

_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)  # bits set in a byte
_NEVER = 255
_FURTHEST = 20  # bits of 64: images that differ in more have nothing in common


@dataclass(frozen=True)
class Neighbor:
    """A image that is near another, and how far it is, in words."""

    position: int
    words: str


class NearDuplicateFinder:
    """Finds images that are alike among those of one test set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hashes: RecentCache[Signatures | None] = RecentCache(8)

    def by_hash(self, test_set: TestSet, position: int, *, hidden: BoolArray) -> list[Neighbor] | None:
        """The images whose perceptual hash, or that of their mirror image, is nearest; none where none are stored.

        ``hidden`` ones (n,) are left out.
        """
        folder = self._store.root / "neighbors" / file_name(test_set.name)
        written = folder.stat().st_mtime_ns if folder.is_dir() else 0
        stored = self._hashes.get(test_set.name, written, lambda _: _stored(self._store, test_set))
        if stored is None or not stored.readable[position]:
            return None
        hashes = stored.phashes
        straight = _bits_apart(hashes[:, 0], hashes[position, 0])
        mirrored = _bits_apart(hashes[:, 1], hashes[position, 0])
        bits = np.where(stored.readable & ~hidden, np.minimum(straight, mirrored), _NEVER)
        bits[position] = _NEVER
        near = np.flatnonzero(bits <= _FURTHEST)
        order = near[np.argsort(bits[near], kind="stable")][:SHOWN]
        return [
            Neighbor(int(one), f"{bits[one]} bits" + (", mirrored" if mirrored[one] < straight[one] else ""))
            for one in order
        ]

    def by_features(self, answers: AnswerTable, model: str, position: int) -> list[Neighbor]:
        """The images that are nearest by the angle between a model's features."""
        row = answers.rows[answers.place(model)]
        features = self._store.predictions(answers.test_set, model).features if row.has_features else None
        if features is None:
            raise InputError(f"no features of {model} on {answers.test_set.name} are stored")
        k = min(SHOWN + 1, len(features))
        found = nearest(np.asarray(features[position : position + 1]), features, k=k, metric=Metric.COSINE)
        pairs = zip(found.indices[0].tolist(), found.distances[0].tolist(), strict=True)
        return [Neighbor(one, f"{far:.3f}") for one, far in pairs if one not in (position, -1)][:SHOWN]


def _bits_apart(hashes: NDArray[np.uint64], other: np.uint64) -> IntArray:
    differing = np.ascontiguousarray(hashes ^ other).view(np.uint8).reshape(-1, 8)
    return np.asarray(_ONES[differing].sum(axis=1, dtype=np.uint8))


def _stored(store: Store, test_set: TestSet) -> Signatures | None:
    if not store.has_images(test_set.name):
        return None
    source = store.images(test_set)
    sizes = sorted(store.signature_sizes(test_set.name))
    return next(
        (found for size in sizes if (found := store.signatures(test_set.name, SignatureKey(source, size)))), None
    )
