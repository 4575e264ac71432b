"""Ambiguous classes: original classes whose images the labels often give another class too, or instead.

An image counts if the labels call a class other than its original label correct, or call the original label wrong.
Nothing is read from predictions of models; answers of people, where a test set has them, are a second source. The table
is an order with intervals and calls no class ambiguous: the reader sets the threshold. An image of several objects
counts as one of a class with several names does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, Column, Estimate, LabelSet, LabelState, Predictions, Table, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import bonferroni_confidence, clustered_proportion, mark_simultaneous, simultaneous_proportions
from regrade.studies.multilabel.kinds import Relation, RightLabels, relates_classes, relation_table
from regrade.studies.scoring import Scoring

MIN_IMAGES = 10
"""Classes with at least this many scored images are listed, by default."""


@dataclass(frozen=True)
class AmbiguousClass:
    """One original class: the ``share`` of its images with another right class, or whose original label is wrong.

    ``both`` counts images whose original label and another class are right, ``rejected`` those whose original label is
    wrong. ``confused_with`` is the class that is right on most of its images (``confused_images``) apart from itself;
    None if there is none. ``people`` is the share of people's answers that name another class; None if fewer than two
    images have answers.
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


@dataclass(frozen=True)
class AmbiguousClasses:
    """The original classes with at least ``min_images`` scored images, by the lower bound of their share.

    Intervals hold for all classes together. ``left_out`` counts classes with fewer scored images, but at least one.
    """

    min_images: int
    classes: tuple[AmbiguousClass, ...]
    left_out: int
    people: int

    def table(self, title: str) -> Table:
        """One row per class, the highest lower bound first."""
        columns = [
            Column("class", "class"), Column("images", "images", detail=True), Column("share", "share"),
            Column("both", "both right", detail=True), Column("rejected", "label wrong", detail=True),
            Column("confused_with", "most often also"), Column("confused_images", "images with it"),
            Column("relation", "relation", detail=True),
        ]  # fmt: skip
        columns += [Column("people", "people")] if self.people else []
        rows = tuple(self._cells(row)[: len(columns)] for row in self.classes)
        return Table(f"original classes by ambiguity on {title}, in %", tuple(columns), rows, self._notes())

    def _cells(self, row: AmbiguousClass) -> tuple[str | int | Estimate | None, ...]:
        relation = row.relation and row.relation.value
        confused = (row.confused_with, row.confused_images, relation)
        return (row.label, row.images, row.share, row.both, row.rejected, *confused, row.people)

    def _notes(self) -> tuple[str, ...]:
        few = f"; {self.left_out:,} classes with fewer are left out" if self.left_out else ""
        notes = [
            "share: images for which the labels call another class correct too, or the original label wrong; images of "
            "several objects, such as a desk with a monitor, count too",
            f"classes with at least {self.min_images:,} scored images{few}; ordered by the lower bound of the share",
            f"intervals: {self.classes[0].share.method}",
        ]
        if self.people:
            methods = sorted({row.people.method for row in self.classes if row.people})
            notes.append(f"people: answers to these images that are wrong by the original label ({', '.join(methods)})")
        return tuple(notes)


@dataclass(frozen=True, eq=False)
class OriginalAnswers:
    """People's answers (p, n) compared with the original labels: which images each person answered, and wrongly."""

    answered: BoolArray
    wrong: BoolArray

    @classmethod
    def of(cls, people: Iterable[tuple[Predictions, Scoring]], size: int) -> OriginalAnswers:
        """The first answers of people to ``size`` images, judged as top-1 accuracy judges predictions."""
        answered, wrong = [np.zeros((0, size), dtype=bool)], [np.zeros((0, size), dtype=bool)]
        for answers, scoring in people:
            counted = scoring.counted & answers.counted & (answers.top1 != NO_ANSWER)
            answered.append(counted[None])
            wrong.append((counted & ~scoring.top_k(answers, 1).right)[None])
        return cls(np.concatenate(answered), np.concatenate(wrong))

    def shares(self, groups: Sequence[IntArray], *, confidence: float) -> list[Estimate | None]:
        """The share of wrong answers to each group of images; None if fewer than two of them have answers."""
        defined = [int(self.answered[:, group].any(axis=0).sum()) > 1 for group in groups]
        level = bonferroni_confidence(sum(defined), confidence)
        return [
            mark_simultaneous(self._share(group, level), sum(defined), confidence=confidence) if is_defined else None
            for group, is_defined in zip(groups, defined, strict=True)
        ]

    def _share(self, images: IntArray, confidence: float) -> Estimate:
        people, places = np.nonzero(self.answered[:, images])
        return clustered_proportion(self.wrong[people, images[places]], places, confidence=confidence)[0]


def ambiguous_classes(
    test_set: TestSet,
    labels: LabelSet,
    right: RightLabels,
    answers: OriginalAnswers,
    *,
    min_images: int = MIN_IMAGES,
    confidence: float = 0.95,
) -> AmbiguousClasses:
    """How often the labels, and people, give another class to the images of each original class.

    Images count that ``right`` scores and that have an original label. An original label that is unclear or not judged
    is neither right nor wrong.
    """
    originals, size = test_set.labels, len(test_set.class_space)
    inside, states = right.scored & test_set.labeled, labels.states_of(originals)
    foreign = inside[right.examples] & (right.classes != originals[right.examples])
    has_foreign = np.bincount(right.examples[foreign], minlength=len(inside)) > 0
    rejected, both = inside & (states == LabelState.WRONG), has_foreign & (states == LabelState.CORRECT)
    masks = (inside, has_foreign | rejected, both, rejected)
    images, either, both_counts, rejected_counts = (np.bincount(originals[mask], minlength=size) for mask in masks)
    listed = np.flatnonzero(images >= max(min_images, 1))
    pairs = _most_frequent(originals[right.examples[foreign]], right.classes[foreign], size)
    shares = simultaneous_proportions(either[listed], images[listed], confidence=confidence)
    groups = [np.flatnonzero(inside & (originals == label)) for label in listed]
    people = answers.shares(groups, confidence=confidence)
    relations, names = _relations(right), test_set.class_space.names
    rows = []
    for label, share, of_people in zip(listed.tolist(), shares, people, strict=True):
        assert share is not None
        confused, count = pairs.get(label, (None, 0))
        rows.append(
            AmbiguousClass(
                names[label], int(images[label]), share, int(both_counts[label]), int(rejected_counts[label]),
                None if confused is None else names[confused], count,
                None if confused is None or relations is None else list(Relation)[relations[label, confused]],
                of_people,
            )
        )  # fmt: skip
    rows.sort(key=lambda row: (-row.share.low, -row.share.value, row.label))
    left_out = int((images > 0).sum()) - len(rows)
    return AmbiguousClasses(min_images, tuple(rows), left_out, int(answers.answered[:, inside].any(axis=1).sum()))


def _most_frequent(labels: IntArray, classes: IntArray, size: int) -> dict[int, tuple[int, int]]:
    """By label (r,) the most frequent of its classes (r,) and how often it occurs; of equal ones the first."""
    keys, counts = np.unique(labels.astype(np.int64) * size + classes, return_counts=True)
    rarest_first = np.lexsort((-keys, counts))
    triples = zip((keys // size)[rarest_first], (keys % size)[rarest_first], counts[rarest_first], strict=True)
    return {int(label): (int(confused), int(count)) for label, confused, count in triples}


def _relations(right: RightLabels) -> IntArray | None:
    return relation_table(right.space) if relates_classes(right.space) else None
