"""Images with several right labels, and an automatic guess at why: several objects, or several names for one.

The guess follows from the classes alone; no image is looked at. Two labels are names of one object if they are
collapsed or have the same parent in the hierarchy, and similar if they share a superclass. Related labels, also those
related through a third one, form a group. Two terriers of different breeds count as one object with two names, a
breastplate and a cuirass as two objects.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.classes import superclasses
from regrade.core import ClassSpace, Estimate, LabelSet, LabelState, hierarchy_distances
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import bonferroni_confidence, mark_simultaneous
from regrade.stats.clusters import components
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of

_SIBLINGS = 1  # steps to a common parent


class Relation(Enum):
    """How two classes are related, the closest relation first."""

    COLLAPSED = "collapsed"
    """People cannot distinguish them, or one includes the other."""
    SAME_PARENT = "same parent"
    """They have the same parent in the hierarchy, or one is the parent of the other."""
    SAME_SUPERCLASS = "same superclass"
    """They share a superclass, the same as in the triage of mistakes."""
    UNRELATED = "unrelated"
    """None of these."""


class ImageKind(Enum):
    """The automatic kinds of images with several right labels, and images with an unclear label."""

    NAMES = "one object, several names"
    """All right labels are connected by collapsed classes or common parents."""
    SIMILAR = "similar classes"
    """All are connected if common superclasses count too: one object with several names, or several objects."""
    OBJECTS = "several objects"
    """There are right labels without any connection."""
    UNCLEAR = "with an unclear label"
    """Reviewers called a class unclear; also images with one right label, or none."""


@dataclass(frozen=True)
class KindShare:
    """The images of one kind, and their share of all scored images; intervals are simultaneous for the kinds."""

    kind: ImageKind
    images: int
    share: Estimate


@dataclass(frozen=True)
class LabelPair:
    """Two classes that are both right on some images, how many, and their relation if it is known."""

    first: str
    second: str
    images: int
    relation: Relation | None


@dataclass(frozen=True, eq=False)
class RightLabels:
    """The right labels of scored images: one row (r,) per image and class, sorted by image."""

    space: ClassSpace
    examples: IntArray
    classes: IntArray
    unclear: BoolArray
    scored: BoolArray

    @classmethod
    def of(cls, labels: LabelSet, space: ClassSpace, scored: BoolArray) -> RightLabels:
        """The labels in the state correct on the ``scored`` images (n,); the state unclear only marks images."""
        rows = np.flatnonzero((labels.states == LabelState.CORRECT) & scored[labels.examples])
        rows = rows[np.lexsort((labels.classes[rows], labels.examples[rows]))]
        unclear = np.zeros(len(scored), dtype=bool)
        unclear[labels.examples[labels.states == LabelState.UNCLEAR]] = True
        return cls(space, labels.examples[rows], labels.classes[rows], unclear & scored, scored)

    @cached_property
    def counts(self) -> IntArray:
        """Shape (n,): the number of right labels of each image."""
        return np.bincount(self.examples, minlength=len(self.scored))

    @property
    def several(self) -> BoolArray:
        """Shape (n,): the images with two or more right labels."""
        return self.counts > 1

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Rows (p,) of the first and the second label of every pair of right labels of one image."""
        widths = range(1, int(self.counts.max(initial=0)))
        first = [np.flatnonzero(self.examples[:-width] == self.examples[width:]) for width in widths]
        second = [rows + width for width, rows in zip(widths, first, strict=True)]
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *first]), np.concatenate([none, *second])

    @cached_property
    def relations(self) -> IntArray:
        """Shape (p,): the relation of each pair, as an index of `Relation`."""
        first, second = self.pairs
        return relation_table(self.space)[self.classes[first], self.classes[second]]

    def groups(self, weakest: Relation) -> IntArray:
        """Shape (n,): the number of groups of labels of each image, connected by this relation or a closer one."""
        related = self.relations <= list(Relation).index(weakest)
        first, second = (rows[related] for rows in self.pairs)
        group = components(first, second, len(self.examples)) if len(self.examples) else self.examples
        _, representatives = np.unique(group, return_index=True)
        return np.bincount(self.examples[representatives], minlength=len(self.scored))


def kind_shares(
    right: RightLabels, clusters: ImageClusters | None = None, *, confidence: float
) -> tuple[KindShare, ...]:
    """The number and the share of the images of each kind; a kind without images has a share of 0.

    If nothing relates the classes of the space, only images with an unclear label are a kind.
    """
    images = _several_by_kind(right) if relates_classes(right.space) else {}
    images[ImageKind.UNCLEAR] = right.unclear
    level, numbers = bonferroni_confidence(len(images), confidence), numbers_of(clusters, right.scored)
    shares = {kind: mean_credit(inside[right.scored], numbers, confidence=level) for kind, inside in images.items()}
    return tuple(
        KindShare(kind, int(images[kind].sum()), mark_simultaneous(share, len(images), confidence=confidence))
        for kind, share in shares.items()
    )


def _several_by_kind(right: RightLabels) -> dict[ImageKind, BoolArray]:
    """Masks (n,) of the images with several right labels; each has one kind."""
    one_object, similar = (
        right.several & (right.groups(weakest) == 1) for weakest in (Relation.SAME_PARENT, Relation.SAME_SUPERCLASS)
    )
    return {
        ImageKind.NAMES: one_object,
        ImageKind.SIMILAR: similar & ~one_object,
        ImageKind.OBJECTS: right.several & ~similar,
    }


def frequent_pairs(right: RightLabels, *, most: int) -> tuple[LabelPair, ...]:
    """The pairs of classes that are right on the same images, the most frequent first.

    Relations are None if nothing relates the classes of the space.
    """
    first, second = right.pairs
    pairs = zip(right.classes[first].tolist(), right.classes[second].tolist(), right.relations.tolist(), strict=True)
    names, relations = right.space.names, list(Relation)
    kinds = relations if relates_classes(right.space) else [None] * len(relations)
    counted = sorted(Counter(pairs).items(), key=lambda item: (-item[1], item[0]))
    return tuple(LabelPair(names[a], names[b], images, kinds[kind]) for (a, b, kind), images in counted[:most])


def relates_classes(space: ClassSpace) -> bool:
    """Whether collapsed classes, a hierarchy or superclasses relate any two classes of a space."""
    related = relation_table(space) < list(Relation).index(Relation.UNRELATED)
    return bool(related[~np.eye(len(space), dtype=bool)].any())


def relation_table(space: ClassSpace) -> IntArray:
    """Shape (c, c): the closest relation of two classes, as an index of `Relation`."""
    collapsed = np.zeros((len(space), len(space)), dtype=bool)
    for label, also in space.collapsed.items():
        collapsed[label, list(also)] = True
    siblings = np.zeros_like(collapsed)
    if space.hierarchy is not None:
        siblings = np.asarray(hierarchy_distances(space) <= _SIBLINGS)
    tables = (collapsed | collapsed.T, siblings, superclasses(space).shared)
    return np.select(tables, range(len(tables)), default=len(tables))
