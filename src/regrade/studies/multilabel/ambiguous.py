"""Ambiguous classes: original classes whose images the labels often give another class too, or instead.

An image counts if the labels call a class other than its original label correct, or call the original label wrong.
Nothing is read from predictions of models; answers of people, where a test set has them, are a second source. The table
is an order with intervals and calls no class ambiguous: the reader sets the threshold. An image of several objects
counts as one of a class with several names does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import Cell, Column, Estimate, LabelSet, LabelState, Table, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.multilabel.class_answers import OriginalAnswers, image_shares, unselected_shares
from regrade.studies.multilabel.kinds import Relation, RightLabels, relates_classes, relation_table

MIN_IMAGES = 10
"""Classes with at least this many scored images are listed, by default."""

_BY_PEOPLE = {"people": "people", "unselected": "not selected"}
_FIELDS = {"class": "label"}  # of a row, by the key of the column


@dataclass(frozen=True)
class AmbiguousClass:
    """One original class: the ``share`` of its images with another right class, or whose original label is wrong.

    ``both`` counts images whose original label and another class are right, ``rejected`` those whose original label is
    wrong. ``confused_with`` is the class that is right on most of its images (``confused_images``) apart from itself;
    None if there is none. ``people`` is the share of people's answers that name another class; None if fewer than two
    images have answers. ``unselected`` is the mean share of people who did not select an image for its label (one minus
    the selection frequency); None without frequencies.
    """

    label: str
    images: int
    share: Estimate
    both: int
    rejected: int
    confused_with: str | None
    confused_images: int
    relation: Relation | None
    people: Estimate | None
    unselected: Estimate | None


@dataclass(frozen=True)
class AmbiguousClasses:
    """The original classes with at least ``min_images`` scored images, by the lower bound of their share.

    Intervals hold for all classes together. ``left_out`` counts classes with fewer scored images, but at least one.
    """

    min_images: int
    classes: tuple[AmbiguousClass, ...]
    left_out: int

    def table(self, title: str) -> Table:
        """One row per class, the highest lower bound first."""
        columns = [
            Column("class", "class"), Column("images", "images", detail=True), Column("share", "share"),
            Column("both", "both right", detail=True), Column("rejected", "label wrong", detail=True),
            Column("confused_with", "most often also"), Column("confused_images", "images with it"),
            Column("relation", "relation", detail=True),
        ]  # fmt: skip
        columns += [Column(key, heading) for key, heading in _BY_PEOPLE.items() if self._methods(key)]
        rows = tuple(tuple(_cell(row, column.key) for column in columns) for row in self.classes)
        return Table(f"original classes by ambiguity on {title}, in %", tuple(columns), rows, self._notes())

    def _notes(self) -> tuple[str, ...]:
        few = f"; {self.left_out:,} classes with fewer are left out" if self.left_out else ""
        notes = [
            "share: images for which the labels call another class correct too, or the original label wrong; images of "
            "several objects, such as a desk with a monitor, count too",
            f"classes with at least {self.min_images:,} scored images{few}; ordered by the lower bound of the share",
            f"intervals: {self.classes[0].share.method}",
        ]
        if methods := self._methods("people"):
            notes.append(f"people: answers to these images that are wrong by the original label ({methods})")
        if methods := self._methods("unselected"):
            notes.append(
                f"not selected: people who did not select an image for its label, means over images ({methods})"
            )
        return tuple(notes)

    def _methods(self, key: str) -> str:
        """The methods of the intervals of a column, in words; empty if no class has a value."""
        estimates = [getattr(row, key) for row in self.classes]
        return ", ".join(sorted({estimate.method for estimate in estimates if estimate}))


def _cell(row: AmbiguousClass, key: str) -> Cell:
    value = getattr(row, _FIELDS.get(key, key))
    return value.value if isinstance(value, Relation) else value


def ambiguous_classes(
    test_set: TestSet,
    labels: LabelSet,
    right: RightLabels,
    answers: OriginalAnswers,
    *,
    min_images: int = MIN_IMAGES,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> AmbiguousClasses:
    """How often the labels, and people, give another class to the images of each original class.

    Images count that ``right`` scores and that have an original label. An original label that is unclear or not judged
    is neither right nor wrong. With ``clusters``, intervals are over clusters of images.
    """
    counts = _Counts.of(test_set, labels, right)
    listed = np.flatnonzero(counts.images >= max(min_images, 1))
    groups = [np.flatnonzero(counts.inside & (test_set.labels == label)) for label in listed]
    shares = image_shares(counts.ambiguous, groups, clusters, confidence=confidence)
    people = answers.shares(groups, clusters, confidence=confidence)
    unselected = unselected_shares(test_set, groups, clusters, confidence=confidence)
    rows = [counts.row(*columns) for columns in zip(listed.tolist(), shares, people, unselected, strict=True)]
    rows.sort(key=lambda row: (-row.share.low, -row.share.value, row.label))
    return AmbiguousClasses(min_images, tuple(rows), int((counts.images > 0).sum()) - len(rows))


@dataclass(frozen=True, eq=False)
class _Counts:
    """Numbers of images by original class (c,), of the images ``inside`` (n,), and their other classes.

    ``ambiguous`` (n,) are those with another right class, or whose original label is wrong.
    """

    right: RightLabels
    inside: BoolArray
    images: IntArray
    ambiguous: BoolArray
    both: IntArray
    rejected: IntArray
    most_frequent: dict[int, tuple[int, int]]

    @classmethod
    def of(cls, test_set: TestSet, labels: LabelSet, right: RightLabels) -> _Counts:
        originals, size = test_set.labels, len(test_set.class_space)
        inside, states = right.scored & test_set.labeled, labels.states_of(originals)
        foreign = inside[right.examples] & (right.classes != originals[right.examples])
        has_foreign = np.bincount(right.examples[foreign], minlength=len(inside)) > 0
        rejected = inside & (states == LabelState.WRONG)
        masks = (inside, has_foreign & (states == LabelState.CORRECT), rejected)
        images, both, wrong = (np.bincount(originals[mask], minlength=size) for mask in masks)
        pairs = _most_frequent(originals[right.examples[foreign]], right.classes[foreign], size)
        return cls(right, inside, images, has_foreign | rejected, both, wrong, pairs)

    @cached_property
    def relations(self) -> IntArray | None:
        return relation_table(self.right.space) if relates_classes(self.right.space) else None

    def row(
        self, label: int, share: Estimate | None, people: Estimate | None, unselected: Estimate | None
    ) -> AmbiguousClass:
        assert share is not None
        names, (confused, count) = self.right.space.names, self.most_frequent.get(label, (None, 0))
        both, rejected = int(self.both[label]), int(self.rejected[label])
        confused_with = None if confused is None else names[confused]
        relation = None if confused is None else self._relation(label, confused)
        images = int(self.images[label])
        return AmbiguousClass(
            names[label], images, share, both, rejected, confused_with, count, relation, people, unselected
        )

    def _relation(self, first: int, second: int) -> Relation | None:
        return None if self.relations is None else list(Relation)[self.relations[first, second]]


def _most_frequent(labels: IntArray, classes: IntArray, size: int) -> dict[int, tuple[int, int]]:
    """By label (r,) the most frequent of its classes (r,) and how often it occurs; of equal ones the first."""
    keys, counts = np.unique(labels.astype(np.int64) * size + classes, return_counts=True)
    rarest_first = np.lexsort((-keys, counts))
    triples = zip((keys // size)[rarest_first], (keys % size)[rarest_first], counts[rarest_first], strict=True)
    return {int(label): (int(confused), int(count)) for label, confused, count in triples}
