"""Importing files into a workspace: read them, check them against the test set, store them atomically."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from regrade.core import (
    Checkpoints,
    ClassSpace,
    FormatError,
    InputError,
    LabelSet,
    MistakeAnnotations,
    PackedTexts,
    Predictions,
    ScoreKind,
    SliceSet,
    TestSet,
    Unlisted,
    own_labels,
)
from regrade.core.arrays import IntArray
from regrade.formats import (
    FileClassSpaces,
    FilePredictions,
    LabelFormat,
    MistakeFormat,
    PeopleFormat,
    PredictionFile,
    SliceFormat,
    checkpoint_notes,
    read_checkpoint_files,
    read_decision_file,
    read_label_file,
    read_mistake_file,
    read_people_file,
    read_prediction_file,
    read_slice_file,
)
from regrade.store import AddedDecisions, PredictionSource, Store, Stored, check_slice_name, manifest_of
from regrade.tables import Columns, check_labels


@dataclass(frozen=True)
class ImportedPredictions:
    """The result of an import: the test set, the new models, those stored before, and notes for the user.

    ``kept`` describes per model which scores are stored.
    """

    test_set: TestSet
    new_test_set: bool
    models: Stored
    kept: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def import_predictions(
    store: Store,
    path: Path,
    *,
    test_set: str,
    classes: ClassSpace | None = None,
    model: str | None = None,
    prefix: str = "",
    columns: Columns | None = None,
) -> ImportedPredictions:
    """Read a file of predictions, check that it matches the test set, and store it atomically.

    If the test set is not stored yet, it is created from the ids and labels of the file, which requires ``classes``.
    ``prefix`` is put before model names that come from columns.
    """

    def read(spaces: FileClassSpaces) -> PredictionFile:
        return read_prediction_file(path, spaces, columns=columns or Columns(), model=model)

    return import_content(
        store,
        read,
        test_set=test_set,
        classes=classes,
        prefix="" if model else prefix,
        origin=str(path),
        source=lambda: _source_of(path),
    )


def import_content(
    store: Store,
    read: Callable[[FileClassSpaces], PredictionFile],
    *,
    test_set: str,
    classes: ClassSpace | None,
    prefix: str,
    origin: str,
    source: Callable[[], PredictionSource] = PredictionSource,
) -> ImportedPredictions:
    """Store the predictions that ``read`` returns for the class spaces; ``origin`` is named in messages."""
    stored_set = store.test_set(test_set) if store.test_sets.has(test_set) else None
    spaces = _spaces(stored_set, classes, test_set)
    content = read(spaces)
    target = stored_set or _new_test_set(content, test_set, spaces.labels, origin)
    rows = _rows(content, target, origin)
    predictions = {prefix + name: in_file.reordered(rows) for name, in_file in content.predictions.items()}
    stored = store_predictions(store, target, predictions, space=spaces.predictions, source=source())
    kept = {name: _stored_scores(own, spaces.predictions) for name, own in predictions.items()}
    return ImportedPredictions(target, stored_set is None, stored, kept, content.notes)


def store_predictions(
    store: Store,
    test_set: TestSet,
    predictions: Mapping[str, FilePredictions],
    *,
    space: ClassSpace,
    source: PredictionSource,
) -> Stored:
    """Store the predictions of any number of models, in the order of the test set, atomically."""
    entries = []
    for name, in_file in predictions.items():
        model = Predictions(
            name, test_set.name, space.name, in_file.classes, in_file.scores, in_file.full_scores, in_file.score_kind
        )
        entries.append((model, manifest_of(model, test_set, space, source)))
    return store.add_predictions(test_set, entries, space)


def _stored_scores(predictions: FilePredictions, space: ClassSpace) -> str:
    """A description of the classes and scores that are stored of a model's predictions."""
    best = predictions.classes.shape[1]
    kind = f" ({predictions.score_kind.value})" if predictions.score_kind else ""
    if predictions.full_scores is not None:
        return f"scores of all {len(space):,} classes{kind}"
    scores = f" with scores{kind}" if predictions.scores is not None else ""
    return f"best {best:,} of {len(space):,} classes{scores}"


def _spaces(test_set: TestSet | None, classes: ClassSpace | None, name: str) -> FileClassSpaces:
    if test_set is not None:
        return FileClassSpaces(classes or test_set.class_space, test_set.class_space)
    if classes is None:
        raise InputError(f"test set {name!r} is new: give its classes with --classes, e.g. imagenet-1k")
    return FileClassSpaces(classes, classes)


def _new_test_set(content: PredictionFile, name: str, space: ClassSpace, origin: str) -> TestSet:
    if content.examples is None or content.examples.labels is None:
        raise FormatError(
            f"test set {name!r} is not known yet and {origin} has no labels to create it from: add it first with "
            f"regrade testsets add {name} LABELS.csv --classes {space.name}"
        )
    test_set = content.examples.as_test_set(name, space)
    return replace(test_set, ids=PackedTexts.of(test_set.ids))  # packed once, as they are written once per model


def _rows(content: PredictionFile, test_set: TestSet, origin: str) -> IntArray:
    """The row in the file of each example of the test set; without ids, rows are in the order of the test set."""
    if content.examples is not None:
        return content.examples.order_in(test_set)
    count = len(next(iter(content.predictions.values())).classes)
    if count != len(test_set):
        raise InputError(
            f"{origin} has {count:,} rows, test set {test_set.name} has {len(test_set):,} examples: an array without "
            "ids must have one row per example, in the order of the test set"
        )
    if content.labels is not None:
        check_labels(content.labels, test_set)
    return np.arange(count)


def _source_of(path: Path) -> PredictionSource:
    """The name and hash of a file."""
    with path.open("rb") as file:
        return PredictionSource(path.name, hashlib.file_digest(file, "sha256").hexdigest())


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
    source = _source_of(path)
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
