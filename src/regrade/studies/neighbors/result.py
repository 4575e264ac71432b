"""Result of the search for the nearest training images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from regrade.core import UNLABELED, ClassSpace, Column, Estimate, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON
from regrade.core.training_neighbors import NO_NEIGHBOR, Duplicate, TrainingNeighbors
from regrade.stats import proportion


@dataclass(frozen=True)
class NearestImage:
    """An image and its nearest training image; labels are class ids, None without one."""

    image: str
    label: str | None
    nearest: str
    nearest_label: str | None
    distance: float
    duplicate: str


@dataclass(frozen=True, repr=False)
class NeighborSearch(Tabular):
    """The nearest training images of a test set, which are stored: counts, and the first neighbor of each image.

    ``exact`` and ``near`` count the images with such a duplicate among their ``neighbors`` training images. They are
    None if the pixels were not compared, as without images. ``same_label`` is the share of the images whose nearest
    training image has their label, among those where both have one; None if there is none. ``new`` is whether the
    neighbors were computed now; otherwise they were stored before.
    """

    test_set: str
    training_set: str
    model: str
    images: int
    training_images: int
    neighbors: int
    threshold: float
    without_embeddings: int
    exact: int | None
    near: int | None
    same_label: Estimate | None
    new: bool
    rows: Sequence[NearestImage]
    class_space: ClassSpace = field(metadata=NOT_IN_JSON)

    def table(self) -> Table:
        """One row per image, duplicates first, then by distance."""
        columns = (
            Column("image", "image"),
            Column("label", "label"),
            Column("nearest", "nearest training image"),
            Column("nearest_label", "its label"),
            Column("distance", "distance", percent=False, digits=3),
            Column("duplicate", "duplicate"),
        )
        ordered = sorted(self.rows, key=lambda row: (_ORDER[row.duplicate], row.distance, row.image))
        rows = tuple(
            (row.image, self._name(row.label), row.nearest, self._name(row.nearest_label), row.distance,
             row.duplicate or None)
            for row in ordered
        )  # fmt: skip
        title = f"nearest images of {self.test_set} in {self.training_set}, by embeddings of {self.model}"
        return Table(title, columns, rows, tuple(self._notes()))

    def _name(self, class_id: str | None) -> str | None:
        return None if class_id is None else self.class_space.names[self.class_space.index(class_id)]

    def _notes(self) -> list[str]:
        notes = [
            f"{'stored' if self.new else 'stored before'}: up to {amount(self.neighbors, 'image')} of "
            f"{self.training_images:,} for each of {amount(self.images, 'image')}; distance: 1 - cosine similarity"
        ]
        if self.exact is None:
            notes.append("duplicates: not searched for, since one of both sets has no images")
        else:
            notes.append(
                f"duplicates among them: {amount(self.exact, 'image')} with equal pixels, {self.near:,} with a near "
                f"duplicate (distance up to {self.threshold:g}, confirmed by the pixels)"
            )
        if self.same_label is not None:
            notes.append(
                f"the nearest training image has the label of the image: {self.same_label} % of "
                f"{amount(self.same_label.n, 'image')} ({self.same_label.method})"
            )
        if self.without_embeddings:
            notes.append(f"without neighbors: {amount(self.without_embeddings, 'image')} without usable embeddings")
        return notes


_ORDER = {Duplicate.EXACT.word: 0, Duplicate.NEAR.word: 1, Duplicate.NONE.word: 2}


def neighbor_search(
    test_set: TestSet, training_set: TestSet, neighbors: TrainingNeighbors, *, new: bool, confidence: float
) -> NeighborSearch:
    """Summarize the neighbors of all images."""
    question, has_neighbor = neighbors.question, neighbors.positions[:, 0] != NO_NEIGHBOR
    nearest_labels = neighbors.labels(training_set)[:, 0]
    both = has_neighbor & test_set.labeled & (nearest_labels != UNLABELED)
    same = int((nearest_labels == test_set.labels)[both].sum())
    counts = {mark: int((neighbors.duplicates == mark).any(axis=1).sum()) for mark in (Duplicate.EXACT, Duplicate.NEAR)}
    compared = neighbors.compared_pixels
    return NeighborSearch(
        test_set.name,
        training_set.name,
        question.model,
        len(test_set),
        len(training_set),
        question.neighbors,
        question.threshold,
        int((~has_neighbor).sum()),
        counts[Duplicate.EXACT] if compared else None,
        counts[Duplicate.NEAR] if compared else None,
        proportion(same, int(both.sum()), confidence=confidence) if both.any() else None,
        new,
        tuple(
            NearestImage(
                test_set.ids[image],
                _class_id(test_set, image),
                training_set.ids[int(neighbors.positions[image, 0])],
                _class_id(training_set, int(neighbors.positions[image, 0])),
                float(neighbors.distances[image, 0]),
                Duplicate(int(neighbors.duplicates[image].max())).word,
            )
            for image in np.flatnonzero(has_neighbor).tolist()
        ),
        test_set.class_space,
    )


def _class_id(test_set: TestSet, position: int) -> str | None:
    label = int(test_set.labels[position])
    return None if label == UNLABELED else test_set.class_space.ids[label]
