"""Errors on objects that no class stands for: a zero-shot classifier prefers a related concept without a class.

After Peychev et al. 2023, step 4. The concepts proposed for an error are the predicted class, the classes that share a
superclass with it, its siblings in WordNet and its ancestors up to a superclass, without ancestors of the label. The
predicted superclass must be that of one of the nearest training images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.classes import Superclasses, Surroundings, Vocabulary, unit_rows
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
        above_label = {} if label == UNLABELED else self._hierarchy.hierarchy.ancestors(self.space.ids[label])
        excluded = above_label.keys() - {"" if label == UNLABELED else self.space.ids[label]}
        concepts = [concept for concept in self._proposals[predicted] if concept not in excluded]
        rows = [self.vocabulary.position_of[concept] for concept in concepts]
        image = unit_rows(np.asarray(self.images[example : example + 1], dtype=np.float32))[0]
        return concepts[int(np.argmax(self.vocabulary.embeddings[rows] @ image))]

    @cached_property
    def _shared(self) -> BoolArray:
        return self.superclasses.shared

    @cached_property
    def _hierarchy(self) -> Surroundings:
        return Surroundings(self.vocabulary.hierarchy)

    @cached_property
    def _proposals(self) -> list[list[str]]:
        """The concepts with a text embedding that are proposed for each predicted class, the class itself first."""
        return [self._proposed(predicted) for predicted in range(len(self.space))]

    def _proposed(self, predicted: int) -> list[str]:
        own, ids = self.space.ids[predicted], self.space.ids
        classes = [ids[index] for index in np.flatnonzero(self._shared[predicted]).tolist()]
        concepts = dict.fromkeys([own, *classes, *self._hierarchy.siblings(own), *self._hierarchy.above(own)])
        return [concept for concept in concepts if concept in self.vocabulary.position_of]
