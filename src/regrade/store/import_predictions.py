"""Importing predictions into the workspace."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from regrade.core import ClassSpace, FormatError, InputError, ModelSpec, PackedTexts, Predictions, TestSet
from regrade.core.arrays import IntArray
from regrade.store.folder import Store, Stored
from regrade.store.prediction_files import FileClassSpaces, FilePredictions, PredictionFile, read_prediction_file
from regrade.store.prediction_folder import Manifest, PredictionSource
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
    stored_set = store.test_set(test_set) if store.has_test_set(test_set) else None
    spaces = _spaces(stored_set, classes, test_set)
    content = read_prediction_file(path, spaces, columns=columns or Columns(), model=model)
    target = stored_set or _new_test_set(content, test_set, spaces.labels, path)
    rows = _rows(content, target, path)
    predictions = {
        name if model else prefix + name: in_file.reordered(rows) for name, in_file in content.predictions.items()
    }
    stored = store_predictions(store, target, predictions, space=spaces.predictions, source=source_of(path))
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


def _new_test_set(content: PredictionFile, name: str, space: ClassSpace, path: Path) -> TestSet:
    if content.examples is None or content.examples.labels is None:
        raise FormatError(
            f"test set {name!r} is not known yet and {path} has no labels to create it from: add it first with "
            f"regrade testsets add {name} LABELS.csv --classes {space.name}"
        )
    test_set = content.examples.as_test_set(name, space)
    return replace(test_set, ids=PackedTexts.of(test_set.ids))  # packed once, as they are written once per model


def _rows(content: PredictionFile, test_set: TestSet, path: Path) -> IntArray:
    """The row in the file of each example of the test set; without ids, rows are in the order of the test set."""
    if content.examples is not None:
        return content.examples.order_in(test_set)
    count = len(next(iter(content.predictions.values())).classes)
    if count != len(test_set):
        raise InputError(
            f"{path} has {count:,} rows, test set {test_set.name} has {len(test_set):,} examples: an array without "
            "ids must have one row per example, in the order of the test set"
        )
    if content.labels is not None:
        check_labels(content.labels, test_set)
    return np.arange(count)


def manifest_of(
    predictions: Predictions,
    test_set: TestSet,
    space: ClassSpace,
    source: PredictionSource,
    *,
    queues: tuple[str, ...] = (),
) -> Manifest:
    """The manifest of predictions that were imported from a file or published from a ledger."""
    return Manifest(
        model=ModelSpec(predictions.model, space.name),
        test_set=test_set.name,
        test_set_digest=test_set.digest,
        class_space=space.name,
        class_space_digest=space.digest,
        examples=len(predictions),
        k=predictions.k,
        digest=predictions.digest,
        score_kind=predictions.score_kind.value if predictions.score_kind else None,
        full_scores=predictions.full_scores is not None,
        features=predictions.features is not None,
        source=source,
        regrade=_own_version(),
        by=predictions.by.value,
        asked=None if predictions.covered is None else int(predictions.covered.sum()),
        times=predictions.times is not None,
        fingerprints=predictions.fingerprints is not None,
        queues=queues,
    )


@cache
def _own_version() -> str:
    """The version of regrade, cached: there may be thousands of manifests."""
    return version("regrade")


def source_of(path: Path) -> PredictionSource:
    """The name and hash of a file."""
    with path.open("rb") as file:
        return PredictionSource(path.name, hashlib.file_digest(file, "sha256").hexdigest())
