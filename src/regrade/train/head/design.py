"""What a head is fitted on: the rows of the training set that count, their targets, groups and clusters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import ClassMap, ClassSpace, InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.store import Store
from regrade.studies.image_clusters import cluster_numbers
from regrade.studies.loading import scored_predictions
from regrade.train.head.inputs import StoredEmbeddings
from regrade.train.remedy import TrainingGroups
from regrade.train.training_data import check_labels


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The images that a head is fitted on, as ``rows`` (m,) of the training set, with their arrays (m, ...).

    ``accepts`` (t, c) and ``offsets`` (m, c) are those of a head that keeps the base model's classes.
    """

    rows: IntArray
    embeddings: FloatArray
    labels: IntArray
    classes: ClassSpace
    accepts: BoolArray | None
    offsets: FloatArray | None
    clusters: IntArray
    groups: IntArray | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MappedLabels:
    """Labels (n,) as indices of the accepted classes, which images count (n,), and the map if there is one."""

    labels: IntArray
    counted: BoolArray
    class_map: ClassMap | None


def own_labels(training_set: TestSet) -> MappedLabels:
    """The labels of the training set, in its own classes; raise if they cannot be learned."""
    check_labels(training_set)
    return MappedLabels(training_set.labels, np.ones(len(training_set), dtype=bool), None)


def mapped_labels(store: Store, training_set: TestSet, model: str, class_map: str | Path | None) -> MappedLabels:
    """The labels of the training set as the base model's predictions are graded, through a class map if need be."""
    ((_, scoring),) = scored_predictions(store, training_set, (model,), class_map=class_map)
    if len(np.unique(scoring.labels[scoring.counted])) < 2:
        raise InputError(f"fewer than two classes of {training_set.name} are among those of {model}: nothing to learn")
    return MappedLabels(scoring.labels, scoring.counted, scoring.class_map)


def training_rows(
    stored: StoredEmbeddings,
    targets: MappedLabels,
    classes: ClassSpace,
    *,
    clusters: str | None,
    groups: TrainingGroups | None,
) -> TrainingRows:
    """The images that are readable and have a label that counts; raise if a class of a head from scratch is lost."""
    test_set = stored.test_set
    rows = np.flatnonzero(stored.readable & targets.counted)
    labels = targets.labels[rows]
    if stored.scores is None:
        empty = np.flatnonzero(np.bincount(labels, minlength=len(classes)) == 0)
        if empty.size:
            raise InputError(f"no image of {classes.names[int(empty[0])]} in {test_set.name} could be read")
    reasons = {"unreadable": ~stored.readable, "of a class without a mapped one": stored.readable & ~targets.counted}
    return TrainingRows(
        rows,
        stored.embeddings[rows],
        labels,
        classes,
        None if targets.class_map is None else targets.class_map.accepts,
        None if stored.scores is None else stored.scores[rows],
        rows if clusters is None else cluster_numbers(test_set, clusters)[rows],
        None if groups is None else groups.members[rows],
        tuple(
            f"{amount(int(left_out.sum()), 'image')} of {test_set.name} {reason}: left out of the fit"
            for reason, left_out in reasons.items()
            if left_out.any()
        ),
    )


def check_folds(data: TrainingRows, folds: int, *, nested: int, clusters: str | None) -> None:
    """Raise if the clusters cannot be divided into ``folds`` parts so many times, one within the other."""
    units = available = len(np.unique(data.clusters))
    for _ in range(nested):
        if available < folds:
            unit = f"clusters by {clusters}" if clusters else "images"
            raise InputError(f"--folds {folds} is too many for {units} {unit} of training images: give fewer")
        available -= -(-available // folds)


def digest_of(values: IntArray) -> str:
    """A hash of integers."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()
