"""Pairs of confused classes and their frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import ClassSpace
from regrade.core.arrays import IntArray
from regrade.core.record import Record
from regrade.metrics import confused_pairs
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList

MOST_PAIRS = 100
"""Number of confused pairs in the JSON output; the table has all."""


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes, by id and name, how often they are confused, and by how many models."""

    first: str
    second: str
    first_name: str
    second_name: str
    count: int
    models: int


@dataclass(frozen=True, eq=False)
class PairTail(Record):
    """All confused pairs of some models, most frequent first; a prediction is paired with each right class.

    ``first``, ``second``, ``counts`` and ``models`` (p,) have one row per pair; ``first`` is the lower class index.
    """

    space: ClassSpace
    sources: tuple[str, ...]
    first: IntArray
    second: IntArray
    counts: IntArray
    models: IntArray

    def json_fields(self) -> dict[str, Any]:
        """The number of pairs, and the most frequent ones."""
        return {
            "sources": self.sources,
            "pairs": len(self),
            "confusions": self.total,
            "frequencies": self.frequencies,
            "most_frequent": tuple(self.rows(MOST_PAIRS)),
        }

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """Number of confusions over all pairs."""
        return int(self.counts.sum())

    @property
    def frequencies(self) -> dict[int, int]:
        """Number of pairs by how often they are confused."""
        sizes, pairs = np.unique(self.counts, return_counts=True)
        return dict(zip(sizes.tolist(), pairs.tolist(), strict=True))

    def rows(self, most: int | None = None) -> Iterator[ConfusedPair]:
        """Yield the pairs, most frequent first."""
        ids, names = self.space.ids, self.space.names
        for a, b, count, models in zip(
            self.first[:most].tolist(),
            self.second[:most].tolist(),
            self.counts[:most].tolist(),
            self.models[:most].tolist(),
            strict=True,
        ):
            yield ConfusedPair(ids[a], ids[b], names[a], names[b], count, models)


@dataclass
class PairCounter:
    """Collects the confused pairs of models, one after another."""

    ground: MistakeLabels
    sources: list[str] = field(default_factory=list)
    _keys: list[IntArray] = field(default_factory=list)
    _counts: list[IntArray] = field(default_factory=list)

    def add(self, mistakes: MistakeList) -> None:
        """Add the mistakes of one model."""
        _, predicted, right = self.ground.right.paired(mistakes.examples, mistakes.classes)
        pairs = confused_pairs(right, predicted)
        self.sources.append(mistakes.source)
        self._keys.append(pairs.first * len(self.ground.test_set.class_space) + pairs.second)
        self._counts.append(pairs.counts)

    def tail(self) -> PairTail:
        """Return all pairs collected so far."""
        empty = [np.empty(0, dtype=np.int64)]
        keys, members, models = np.unique(np.concatenate(empty + self._keys), return_inverse=True, return_counts=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, members, np.concatenate(empty + self._counts))
        order = np.argsort(-counts, kind="stable")
        space = self.ground.test_set.class_space
        first, second = np.divmod(keys[order], len(space))
        return PairTail(space, tuple(self.sources), first, second, counts[order], models[order])
