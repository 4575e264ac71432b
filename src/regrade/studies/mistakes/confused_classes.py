"""Which classes are confused: pairs of classes, and their distances in the class hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import (
    UNRELATED,
    ClassSpace,
    Estimate,
    MistakeAnnotations,
    MistakeCategory,
    Steps,
    hierarchy_distances,
)
from regrade.core.arrays import IntArray
from regrade.core.record import Record
from regrade.metrics import confused_pairs
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList

DEFINITION = f"{Steps.MAX.value} to a common ancestor, the least over ancestors, paths and right classes"
"""Definition of the distance."""

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


@dataclass(frozen=True)
class DistanceCount:
    """The mistakes of one source at one distance (None: no common ancestor), and their share of all measured ones.

    ``categories`` are the shares of each category among them, None without a review. At distance 0 the labels accept
    what the review lists as a mistake.
    """

    source: str
    distance: int | None
    mistakes: int
    share: Estimate
    categories: Mapping[MistakeCategory, Estimate] | None = None


def distances_of(mistakes: MistakeList, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count a model's mistakes by distance, without missing predictions and images without a right class."""
    distances = least_distances(mistakes.examples, mistakes.classes, ground)
    return _counted(mistakes.source, distances, None, numbers_in(ground.clusters, mistakes.examples), confidence)


def reviewed_distances(review: MistakeAnnotations, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count the mistakes of a review by distance, with the categories at each distance."""
    distances = least_distances(review.examples, review.classes, ground)
    return _counted(review.model, distances, review, numbers_in(ground.clusters, review.examples), confidence)


def least_distances(examples: IntArray, predictions: IntArray, ground: MistakeLabels) -> IntArray:
    """Shape (r,): distance of each prediction to the nearest right class of its image; -1 if undefined."""
    table = hierarchy_distances(ground.test_set.class_space)
    rows, predicted, right = ground.right.paired(examples, predictions)
    present = predicted >= 0
    least = np.full(len(examples), np.iinfo(np.int64).max)
    np.minimum.at(least, rows[present], table[predicted[present], right[present]].astype(np.int64))
    return np.where(least == np.iinfo(np.int64).max, -1, least)


def _counted(
    source: str,
    distances: IntArray,
    review: MistakeAnnotations | None,
    clusters: IntArray | None,
    confidence: float,
) -> list[DistanceCount]:
    measured = distances >= 0
    values, counts = np.unique(distances[measured], return_counts=True)
    rows = []
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        share = mean_credit(distances[measured] == value, numbers_in(clusters, measured), confidence=confidence)
        categories = None
        if review is not None:
            at_distance = distances == value
            numbers = numbers_in(clusters, at_distance)
            categories = {
                category: mean_credit(review.of_category(category)[at_distance], numbers, confidence=confidence)
                for category in MistakeCategory
            }
        rows.append(DistanceCount(source, None if value == UNRELATED else value, count, share, categories))
    return rows
