"""The long tail of confused pairs: which two classes are taken for each other, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from regrade.core import ClassSpace
from regrade.core.arrays import IntArray
from regrade.metrics import confused_pairs
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes, by id and name, how often one was taken for the other, and by how many models."""

    first: str
    second: str
    first_name: str
    second_name: str
    count: int
    models: int


@dataclass(frozen=True, eq=False)
class PairTail:
    """All confused pairs of some models together, the most frequent first; an answer is paired with each right class.

    ``first``, ``second``, ``counts`` and ``models`` (p,) hold one pair a row, ``first`` the lower class index.
    """

    space: ClassSpace
    sources: tuple[str, ...]
    first: IntArray
    second: IntArray
    counts: IntArray
    models: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """How many confusions there are in all pairs together."""
        return int(self.counts.sum())

    @property
    def frequencies(self) -> dict[int, int]:
        """How many pairs are confused once, twice, and so on."""
        sizes, pairs = np.unique(self.counts, return_counts=True)
        return dict(zip(sizes.tolist(), pairs.tolist(), strict=True))

    def rows(self, most: int | None = None) -> Iterator[ConfusedPair]:
        """The pairs, the most frequent first."""
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
    """Gathers the confused pairs of one model after another."""

    ground: MistakeLabels
    sources: list[str] = field(default_factory=list)
    _keys: list[IntArray] = field(default_factory=list)
    _counts: list[IntArray] = field(default_factory=list)

    def add(self, mistakes: MistakeList) -> None:
        """Count the mistakes of one more model."""
        _, given, right = self.ground.right.paired(mistakes.examples, mistakes.classes)
        found = confused_pairs(right, given)
        self.sources.append(mistakes.source)
        self._keys.append(found.first * len(self.ground.test_set.class_space) + found.second)
        self._counts.append(found.counts)

    def tail(self) -> PairTail:
        """All pairs so far."""
        nothing = [np.empty(0, dtype=np.int64)]
        keys, members, models = np.unique(np.concatenate(nothing + self._keys), return_inverse=True, return_counts=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, members, np.concatenate(nothing + self._counts))
        order = np.argsort(-counts, kind="stable")
        space = self.ground.test_set.class_space
        first, second = np.divmod(keys[order], len(space))
        return PairTail(space, tuple(self.sources), first, second, counts[order], models[order])
