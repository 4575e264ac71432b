"""Importing files into a workspace: read them, check them against the test set, store them atomically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from regrade.core import (
    Checkpoints,
    ClassSpace,
    InputError,
    LabelSet,
    MistakeAnnotations,
    ScoreKind,
    SliceSet,
    TestSet,
    Unlisted,
    own_labels,
)
from regrade.formats import (
    LabelFormat,
    MistakeFormat,
    PeopleFormat,
    SliceFormat,
    checkpoint_notes,
    read_checkpoint_files,
    read_decision_file,
    read_label_file,
    read_mistake_file,
    read_people_file,
    read_slice_file,
)
from regrade.store import AddedDecisions, Store, Stored, check_slice_name, manifest_of
from regrade.tables import Columns
from regrade.workspace.prediction_imports import source_of


@dataclass(frozen=True)
class ImportedPeople:
    """The result of an import: the new people, those stored before, and how many images each was asked about.

    ``passed_over`` counts answers to images that are not in the test set, ``timed`` those with a start and an end;
    ``notes`` are for the user.
    """

    test_set: TestSet
    people: Stored
    images: Mapping[str, int]
    passed_over: int
    timed: int = 0
    notes: tuple[str, ...] = ()


def import_people(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: PeopleFormat,
    name: str | None = None,
    columns: Columns | None = None,
) -> ImportedPeople:
    """Read a file of people's answers, check that it matches the test set, and store it atomically.

    People are stored like models, named ``person:`` and their name, with the images they were asked about.
    """
    target = store.test_set(test_set)
    content = read_people_file(path, target, form=form, name=name, columns=columns)
    source = source_of(path)
    space = target.class_space
    entries = [(answers, manifest_of(answers, target, space, source)) for answers in content.people]
    stored = store.add_predictions(target, entries, space)
    images = {answers.model: int(answers.counted.sum()) for answers in content.people}
    times = [answers.times for answers in content.people if answers.times is not None]
    timed = sum(int(np.isfinite(person_times.seconds).sum()) for person_times in times)
    return ImportedPeople(target, stored, images, content.passed_over, timed, content.notes)


@dataclass(frozen=True)
class ImportedCheckpoints:
    """The result of an import: the checkpoints, whether they are new, and notes for the user."""

    checkpoints: Checkpoints
    new: bool
    notes: tuple[str, ...] = ()


def import_checkpoints(
    store: Store, path: Path, *, test_set: str, ensemble: str, kind: ScoreKind, classes: ClassSpace | None = None
) -> ImportedCheckpoints:
    """Read the checkpoints of an ensemble, check that they match the test set, and store them atomically."""
    target = store.test_set(test_set)
    with store.ensembles.temporary_writer(target, ensemble, kind, classes) as writer:
        for checkpoint in read_checkpoint_files(path, target):
            writer.add(checkpoint.scores, seed=checkpoint.seed, epoch=checkpoint.epoch)
        new = writer.finish()
    return ImportedCheckpoints(store.ensembles.read(target, ensemble), new, checkpoint_notes(path))


@dataclass(frozen=True)
class ImportedLabels:
    """The result of an import: the labels, whether they are new, the slices that came with them, and notes."""

    labels: LabelSet
    new: bool
    slices: SliceSet | None = None
    notes: tuple[str, ...] = ()


def create_labels(store: Store, *, test_set: str, name: str) -> ImportedLabels:
    """Store a label set made from the test set's own labels: each is correct, and no other class is judged yet.

    Raises if other labels have the same name.
    """
    _check_label_set_name(name)
    target = store.test_set(test_set)
    if not target.labeled.any():
        raise InputError(f"no image of {test_set} has a label: import labels with regrade import labels")
    labels = own_labels(target, name=name)
    return ImportedLabels(labels, bool(store.labels.add(labels, target).new))


def import_labels(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: LabelFormat,
    name: str,
    unlisted: Unlisted = Unlisted.NOVEL,
    new_version: bool = False,
    columns: Columns | None = None,
) -> ImportedLabels:
    """Read a file of labels, check that it matches the test set, and store it.

    Raises if other labels have the same name; with ``new_version`` they are stored as its next version.
    """
    _check_label_set_name(name)
    target = store.test_set(test_set)
    content = read_label_file(path, target, form=form, name=name, version=1, unlisted=unlisted, columns=columns)
    with store.transaction():  # no other process can add a version in between
        labels = _numbered(store, target, content.labels, new_version=new_version)
        if content.slices is not None:
            store.slices.add(content.slices, target)
        new = bool(store.labels.add(labels, target).new)
    return ImportedLabels(labels, new, content.slices, content.notes)


def _check_label_set_name(name: str) -> None:
    if not name.strip():
        raise InputError("a label set needs a name")
    if "@" in name:
        raise InputError(f"the name {name!r} contains @, which separates a label set's name from its version")


def _numbered(store: Store, test_set: TestSet, labels: LabelSet, *, new_version: bool) -> LabelSet:
    """The labels as the newest version, or as the next one if both are to be kept and they differ."""
    newest = store.labels.newest_version(test_set.name, labels.name)
    if newest and new_version and store.labels.read(test_set, labels.name).digest != labels.digest:
        return replace(labels, version=newest + 1)
    return replace(labels, version=max(newest, 1))


@dataclass(frozen=True)
class ImportedSlices:
    """The result of an import: the slices, whether they are new, and notes for the user."""

    slices: SliceSet
    new: bool
    notes: tuple[str, ...] = ()


def import_slices(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: SliceFormat,
    name: str,
    columns: Columns | None = None,
    chosen_hard: bool = False,
) -> ImportedSlices:
    """Read a file of slices, check that it matches the test set, and store it; raise if others have its name.

    ``chosen_hard`` says that the images were chosen because models find them hard.
    """
    target = store.test_set(test_set)
    check_slice_name(name, target)
    content = read_slice_file(path, target, form=form, name=name, columns=columns)
    slices = replace(content.slices, chosen_hard=chosen_hard)
    return ImportedSlices(slices, bool(store.slices.add(slices, target).new), content.notes)


@dataclass(frozen=True)
class ImportedMistakes:
    """The result of an import: the review, whether it is new, and notes for the user."""

    review: MistakeAnnotations
    new: bool
    notes: tuple[str, ...] = ()


def import_mistakes(
    store: Store, path: Path, *, test_set: str, model: str, form: MistakeFormat, columns: Columns | None = None
) -> ImportedMistakes:
    """Read a review of a model's mistakes and store it; raise if another review of the model is stored.

    The model's predictions need not be stored.
    """
    if not model.strip():
        raise InputError("a review of mistakes needs the name of its model")
    target = store.test_set(test_set)
    content = read_mistake_file(path, target, form=form, model=model, columns=columns)
    return ImportedMistakes(content.review, bool(store.mistakes.add(content.review, target).new), content.notes)


def import_decisions(
    store: Store, path: Path, *, test_set: str, labels: str, correction: str = "", columns: Columns | None = None
) -> AddedDecisions:
    """Read decisions on drawn predictions and add them; with ``correction``, the reason, they may replace others."""
    target = store.test_set(test_set)
    label_set = store.labels.read(target, labels)
    with store.transaction():  # no other process can add decisions in between
        frame = store.reviews.read(target, label_set)
        if frame is None:
            raise InputError(f"no sample was drawn for {label_set.name}: draw one with regrade labels sample")
        decisions = read_decision_file(path, target, columns or Columns())
        return store.reviews.add_decisions(frame, target, decisions, correction=correction)
