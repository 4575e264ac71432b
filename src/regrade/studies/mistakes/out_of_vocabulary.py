"""Errors on objects that no class stands for: a zero-shot classifier prefers a related concept without a class.

After Peychev et al. 2023, step 4. The concepts proposed for an error are the predicted class, the classes that share a
superclass with it, its siblings in WordNet and its ancestors up to a superclass, without ancestors of the label. The
predicted superclass must be that of one of the nearest training images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.classes import Superclasses, Surroundings, Vocabulary
from regrade.core import UNLABELED, ClassSpace
from regrade.core.arrays import BoolArray, FloatArray, IntArray

NEIGHBORS = 10
"""Number of nearest training images that are looked at."""


@dataclass(frozen=True, eq=False)
class OutOfVocabulary:
    """Text embeddings of concepts, image embeddings (n, d) of the same ``model``, and labels (n, k) of neighbors."""

    model: str
    space: ClassSpace
    superclasses: Superclasses
    vocabulary: Vocabulary
    images: FloatArray
    neighbors: IntArray

    def errors(self, examples: IntArray, predictions: IntArray, labels: IntArray) -> BoolArray:
        """Shape (r,): the errors whose image is nearest to a concept without a class; labels may be missing (-1)."""
        rows = zip(examples.tolist(), predictions.tolist(), labels.tolist(), strict=True)
        return np.array([self._is_outside(*row) for row in rows], dtype=bool)

    def _is_outside(self, example: int, predicted: int, label: int) -> bool:
        if predicted < 0 or not self._is_near(example, predicted):
            return False
        return self.nearest_concept(example, predicted, label) not in self.space.index_of

    def _is_near(self, example: int, predicted: int) -> bool:
        """Whether a near training image has a label that shares a superclass with the prediction."""
        labels = self.neighbors[example, :NEIGHBORS]
        return bool(self._shared[predicted, labels[labels != UNLABELED]].any())

    def nearest_concept(self, example: int, predicted: int, label: int) -> str:
        """The proposed concept whose text embedding is most similar to the image; ties go to the first one.

        The softmax over similarities, which the paper takes, has the same maximum.
        """
        rows = self._proposals[predicted]
        excluded = self._above_label.get(label, frozenset())
        if not excluded.isdisjoint(rows.tolist()):
            rows = np.array([row for row in rows.tolist() if row not in excluded])
        similarities = self.vocabulary.embeddings[rows] @ np.asarray(self.images[example], dtype=np.float32)
        return self.vocabulary.ids[rows[int(np.argmax(similarities))]]

    @cached_property
    def _shared(self) -> BoolArray:
        return self.superclasses.shared

    @cached_property
    def _above_label(self) -> dict[int, frozenset[int]]:
        """The rows of the vocabulary that are ancestors of each class."""
        hierarchy, position_of = self.vocabulary.hierarchy, self.vocabulary.position_of
        above = {label: hierarchy.ancestors(own).keys() - {own} for label, own in enumerate(self.space.ids)}
        return {
            label: frozenset(position_of[concept] for concept in concepts & position_of.keys())
            for label, concepts in above.items()
        }

    @cached_property
    def _proposals(self) -> list[IntArray]:
        """The rows of the vocabulary that are proposed for each predicted class, the class itself first."""
        around = Surroundings(self.vocabulary.hierarchy)
        return [self._proposed(predicted, around) for predicted in range(len(self.space))]

    def _proposed(self, predicted: int, around: Surroundings) -> IntArray:
        own, ids, position_of = self.space.ids[predicted], self.space.ids, self.vocabulary.position_of
        classes = [ids[index] for index in np.flatnonzero(self._shared[predicted]).tolist()]
        concepts = dict.fromkeys([own, *classes, *around.siblings(own), *around.above(own)])
        return np.array([position_of[concept] for concept in concepts if concept in position_of])
