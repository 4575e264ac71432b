"""The nearest training images of every image of a test set, and which of them are duplicates of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError
from regrade.core.image_pairs import PairDecision
from regrade.core.panel import PairRelation
from regrade.core.test_set import TestSet

NO_NEIGHBOR = -1
"""The position of a missing neighbor."""


class Duplicate(IntEnum):
    """Whether a training image is a duplicate of an image."""

    NONE = 0
    NEAR = 1
    EXACT = 2

    @property
    def word(self) -> str:
        """The mark as text, empty without one."""
        return "" if self is Duplicate.NONE else self.name.lower()


@dataclass(frozen=True)
class NeighborQuestion:
    """What was searched and how; the digests are those of both sets, and of the model's embeddings on them.

    Each image has up to ``neighbors`` training images, and those within the cosine distance ``threshold`` were
    compared by their pixels. Two searches with the same ``digest`` give the same neighbors.
    """

    test_set: str
    training_set: str
    model: str
    test_set_digest: str
    training_set_digest: str
    embeddings_digest: str
    neighbors: int
    threshold: float

    @cached_property
    def digest(self) -> str:
        """A hash of everything but the names, which may change."""
        digests = [self.test_set_digest, self.training_set_digest, self.embeddings_digest]
        return hashlib.sha256(json.dumps([*digests, self.neighbors, self.threshold]).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class TrainingNeighbors:
    """The training images (n, k) that are nearest to each image of a test set, nearest first.

    ``positions`` are those in the training set, `NO_NEIGHBOR` where an image has fewer; ``distances`` are cosine
    distances of embeddings, NaN there. ``duplicates`` are the values of `Duplicate`; they are all `Duplicate.NONE` if
    the pixels were not compared, as without images.
    """

    question: NeighborQuestion
    positions: IntArray
    distances: FloatArray
    duplicates: NDArray[np.int8]
    compared_pixels: bool = True

    def __post_init__(self) -> None:
        if not self.positions.shape == self.distances.shape == self.duplicates.shape:
            raise InputError("positions, distances and duplicates must have the same shape")

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def digest(self) -> str:
        """The digest of the question, which determines the neighbors."""
        return self.question.digest

    def labels(self, training_set: TestSet) -> IntArray:
        """Shape (n, k): the labels of the neighbors; -1 for a missing neighbor or label."""
        return np.where(self.positions == NO_NEIGHBOR, -1, training_set.labels[self.positions])

    def decided(self, sets: tuple[TestSet, TestSet], decisions: Mapping[str, PairDecision]) -> TrainingNeighbors:
        """The same neighbors, with the duplicates that people decided on; equal pixels stay exact duplicates.

        ``sets`` are the test set and its training set, ``decisions`` those that hold, by the key of the pair.
        """
        duplicates = self.duplicates.copy()
        for image, place, relation in self._decisions(sets, decisions):
            if duplicates[image, place] != Duplicate.EXACT:
                is_near = relation is PairRelation.DUPLICATE
                duplicates[image, place] = Duplicate.NEAR if is_near else Duplicate.NONE
        return replace(self, duplicates=duplicates)

    def _decisions(
        self, sets: tuple[TestSet, TestSet], decisions: Mapping[str, PairDecision]
    ) -> list[tuple[int, int, PairRelation | None]]:
        """The image, the place of the neighbor and the relation of every decision on a neighbor."""
        own, training = sets
        rows = []
        for decision in decisions.values():
            sides = {side.test_set: side.image for side in (decision.first, decision.second)}
            if sides.keys() != {own.name, training.name}:
                continue
            image = own.position_of.get(sides[own.name])
            if image is not None:
                nearest = enumerate(self.positions[image].tolist())
                places = [place for place, at in nearest if at >= 0 and training.ids[at] == sides[training.name]]
                rows += [(image, place, decision.relation) for place in places]
        return rows
