"""Bringing a file of predictions into the workspace."""

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
    """What an import did: the models stored, those that were there already, the test set, and notes for people.

    ``kept`` says by model what of its answers is stored.
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
    """Read a file of predictions, hold it against the test set and store it, all of it or nothing.

    A test set that is not stored yet is made from the file's own ids and labels; ``classes`` is
    then needed. ``prefix`` is put before the names of models that come from columns.
    """
    known = store.test_set(test_set) if store.has_test_set(test_set) else None
    spaces = _spaces(known, classes, test_set)
    found = read_prediction_file(path, spaces, columns=columns or Columns(), model=model)
    target = known or _new_test_set(found, test_set, spaces.labels, path)
    rows = _rows(found, target, path)
    answers = {name if model else prefix + name: a.reordered(rows) for name, a in found.answers.items()}
    stored = store_answers(store, target, answers, space=spaces.predictions, source=source_of(path))
    kept = {name: _kept(own, spaces.predictions) for name, own in answers.items()}
    return ImportedPredictions(target, known is None, stored, kept, found.notes)


def store_answers(
    store: Store,
    test_set: TestSet,
    answers: Mapping[str, FilePredictions],
    *,
    space: ClassSpace,
    source: PredictionSource,
) -> Stored:
    """Store the answers of any number of models, in the test set's order, all of them or none."""
    entries = []
    for name, given in answers.items():
        predictions = Predictions(
            name, test_set.name, space.name, given.classes, given.scores, given.full_scores, given.score_kind
        )
        entries.append((predictions, manifest_of(predictions, test_set, space, source)))
    return store.add_predictions(test_set, entries, space)


def _kept(answers: FilePredictions, space: ClassSpace) -> str:
    """What of a model's answers is stored, in words."""
    best = answers.classes.shape[1]
    kind = f" ({answers.score_kind.value})" if answers.score_kind else ""
    if answers.full_scores is not None:
        return f"scores of all {len(space):,} classes{kind}"
    scores = f" with scores{kind}" if answers.scores is not None else ""
    return f"best {best:,} of {len(space):,} classes{scores}"


def _spaces(known: TestSet | None, classes: ClassSpace | None, name: str) -> FileClassSpaces:
    if known is not None:
        return FileClassSpaces(classes or known.class_space, known.class_space)
    if classes is None:
        raise InputError(f"test set {name!r} is new: say what its classes are with --classes, e.g. imagenet-1k")
    return FileClassSpaces(classes, classes)


def _new_test_set(found: PredictionFile, name: str, space: ClassSpace, path: Path) -> TestSet:
    if found.examples is None or found.examples.labels is None:
        raise FormatError(
            f"test set {name!r} is not known yet and {path} has no labels to make it from: add it first with "
            f"regrade testsets add {name} LABELS.csv --classes {space.name}"
        )
    made = found.examples.as_test_set(name, space)
    return replace(made, ids=PackedTexts.of(made.ids))  # as they are written, once per model


def _rows(found: PredictionFile, test_set: TestSet, path: Path) -> IntArray:
    """For each example of the test set its row in the file; an array without ids follows the set's order."""
    if found.examples is not None:
        return found.examples.order_in(test_set)
    given = len(next(iter(found.answers.values())).classes)
    if given != len(test_set):
        raise InputError(
            f"{path} has {given:,} rows, test set {test_set.name} has {len(test_set):,} examples: an array without "
            "ids must have one row an example, in the order of the test set"
        )
    if found.labels is not None:
        check_labels(found.labels, test_set)
    return np.arange(given)


def manifest_of(
    predictions: Predictions,
    test_set: TestSet,
    space: ClassSpace,
    source: PredictionSource,
    *,
    queues: tuple[str, ...] = (),
) -> Manifest:
    """What stands behind predictions that came from outside."""
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
    """The version of regrade, looked up once: there may be thousands of manifests."""
    return version("regrade")


def source_of(path: Path) -> PredictionSource:
    """The name and hash of a file."""
    with path.open("rb") as file:
        return PredictionSource(path.name, hashlib.file_digest(file, "sha256").hexdigest())
