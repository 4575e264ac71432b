"""Importing predictions: read a file, check it against the test set, describe it or store it atomically."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import numpy as np

from regrade.core import (
    ClassSpace,
    FormatError,
    InputError,
    MismatchError,
    PackedTexts,
    Predictions,
    TestSet,
    UnknownName,
)
from regrade.core.amounts import amount
from regrade.core.names import refuse_text
from regrade.formats import FileClassSpaces, FilePredictions, PredictionFile
from regrade.store import PredictionSource, Store, Stored, manifest_of
from regrade.tables import NO_ROW, IdMatch, check_labels
from regrade.tables.id_matching import match_some_ids
from regrade.workspace.import_checks import AccuracyCheck, check_columns

_SHOWN = 6  # columns or test sets that a message lists


class FileCoverage(Enum):
    """Whether a file of predictions must have all examples of the test set."""

    ALL = "all"
    SOME = "some"


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


@dataclass(frozen=True)
class PredictionImport:
    """What a file of predictions contains, as it would be imported: nothing is stored yet.

    ``origin`` names the file in messages, and ``source`` identifies its content. ``predictions`` are in the order of
    the test set; ``roles`` describes how each column or array of the file was understood, ``ignoring`` which parts of
    ids were not compared, and ``checks`` the accuracy of each model, None without labels or if the predictions are in
    another class space than the test set. ``covered`` is the number of examples that the file has.
    """

    origin: str
    test_set: TestSet
    new_test_set: bool
    space: ClassSpace
    predictions: Mapping[str, FilePredictions]
    roles: Mapping[str, str]
    ignoring: str
    checks: Mapping[str, AccuracyCheck | None]
    covered: int
    notes: tuple[str, ...] = ()
    source: Callable[[], PredictionSource] = PredictionSource

    @property
    def coverage(self) -> str:
        """How many examples of the test set the file has, in words."""
        every = amount(len(self.test_set), "example")
        return every if self.covered == len(self.test_set) else f"{self.covered:,} of {every}"

    @property
    def kept(self) -> dict[str, str]:
        """Per model, the classes and scores that would be stored."""
        return {name: _stored_scores(own, self.space) for name, own in self.predictions.items()}


def store_read_predictions(store: Store, content: PredictionImport) -> ImportedPredictions:
    """Store the predictions that were read from a file, and the test set if it is new, atomically."""
    target, source = content.test_set, content.source()
    stored = store_predictions(store, target, content.predictions, space=content.space, source=source)
    return ImportedPredictions(target, content.new_test_set, stored, content.kept, content.notes)


def read_predictions(
    store: Store,
    read: Callable[[FileClassSpaces], PredictionFile],
    *,
    test_set: str,
    classes: ClassSpace | None = None,
    prefix: str = "",
    coverage: FileCoverage = FileCoverage.ALL,
    origin: str,
    source: Callable[[], PredictionSource] = PredictionSource,
    reversed_models: Sequence[str] = (),
) -> PredictionImport:
    """Read predictions by a function of the class spaces, and check that they match the test set; nothing is stored.

    If the test set is not stored yet, it is created from their ids and labels, which requires ``classes``. ``prefix``
    is put before the names of models. By default, every example of the test set needs a row. The columns of
    ``reversed_models`` have the best class last.
    """
    stored_set = store.test_set(test_set) if store.test_sets.has(test_set) else None
    spaces = _spaces(stored_set, classes, test_set, store.test_sets.names())
    content = _reversed(read(spaces), reversed_models, prefix)
    target = stored_set or _new_test_set(content, test_set, spaces.labels, origin)
    match = _matched(content, target, origin, coverage)
    predictions = {name: in_file.reordered(match.rows) for name, in_file in content.predictions.items()}
    checks = {name: _checked(own, spaces.predictions, target) for name, own in predictions.items()}
    integer_notes = _integer_notes(content, checks, origin)
    return PredictionImport(
        origin,
        target,
        stored_set is None,
        spaces.predictions,
        {prefix + name: own for name, own in predictions.items()},
        content.roles,
        match.ignoring,
        {prefix + name: check for name, check in checks.items()},
        match.matched,
        (*content.notes, *_id_notes(match), *integer_notes, *_accuracy_notes(checks)),
        source,
    )


def _reversed(content: PredictionFile, models: Sequence[str], prefix: str) -> PredictionFile:
    """The file with the columns of some models, named with or without the prefix, in reverse order."""
    refuse_text(models, "reversed")
    names = {name.removeprefix(prefix) for name in models}
    for name in names - content.predictions.keys():
        raise UnknownName("model in the file", name, [*content.predictions])
    if not names:
        return content
    predictions = {
        name: own.with_columns_reversed() if name in names else own for name, own in content.predictions.items()
    }
    note = f"columns read from the last to the first: {', '.join(prefix + name for name in sorted(names))}"
    return replace(content, predictions=predictions, notes=(*content.notes, note))


def _id_notes(match: IdMatch) -> tuple[str, ...]:
    return (f"ids were compared without {match.ignoring}",) if match.ignoring else ()


def _accuracy_notes(checks: Mapping[str, AccuracyCheck | None]) -> tuple[str, ...]:
    return tuple(f"{name}: {check.hint}" for name, check in checks.items() if check is not None and check.hint)


def _checked(predictions: FilePredictions, space: ClassSpace, test_set: TestSet) -> AccuracyCheck | None:
    if space != test_set.class_space:
        return None
    ranked = predictions.classes if predictions.scores is None else predictions.classes[:, :1]  # scores give the order
    return check_columns(ranked, test_set, covered=predictions.covered)


def _integer_notes(content: PredictionFile, checks: Mapping[str, AccuracyCheck | None], origin: str) -> tuple[str, ...]:
    """Raise if a column of integers agrees with the labels only as often as by chance, and was not named as a model.

    With few images that says little, and columns whose names differ only in their digits are models: both are listed
    in a note.
    """
    doubtful = {name: check for name in content.integer_columns if (check := checks[name]) and not check.above_chance}
    alike = Counter(_without_digits(name) for name in content.integer_columns)
    for name, check in doubtful.items():
        if check.enough_images and alike[_without_digits(name)] == 1:
            rates = f"{100 * check.accuracy:.1f} % of the images (by chance {100 * check.chance:.1f} %)"
            raise InputError(
                f"{origin}: the integers of column {name!r} agree with the labels for {rates}: name the models with "
                f"--prediction-column, or give --group {name}"
            )
    if not doubtful:
        return ()
    names = ", ".join(list(doubtful)[:_SHOWN]) + (", ..." if len(doubtful) > _SHOWN else "")
    return (f"taken as models, although they agree with the labels no more often than by chance: {names}",)


def _without_digits(name: str) -> str:
    return re.sub(r"\d+", "", name)


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
            name,
            test_set.name,
            space.name,
            in_file.classes,
            in_file.scores,
            in_file.full_scores,
            in_file.score_kind,
            covered=in_file.covered,
            ties=in_file.ties,
        )
        changed = f" ({in_file.changed})" if in_file.changed else ""
        own_source = replace(source, file=f"{source.file}{changed}")
        entries.append((model, manifest_of(model, test_set, space, own_source)))
    return store.add_predictions(test_set, entries, space)


def _stored_scores(predictions: FilePredictions, space: ClassSpace) -> str:
    """A description of the classes and scores that are stored of a model's predictions."""
    best = predictions.classes.shape[1]
    kind = f" ({predictions.score_kind.value})" if predictions.score_kind else ""
    if predictions.full_scores is not None:
        return f"scores of all {len(space):,} classes{kind}"
    scores = f" with scores{kind}" if predictions.scores is not None else ""
    return f"best {best:,} of {len(space):,} classes{scores}"


def _spaces(
    test_set: TestSet | None, classes: ClassSpace | None, name: str, stored_names: Sequence[str]
) -> FileClassSpaces:
    if test_set is not None:
        return FileClassSpaces(classes or test_set.class_space, test_set.class_space)
    if classes is None:
        stored = f", or name a stored one: {', '.join(stored_names[:_SHOWN])}" if stored_names else ""
        raise InputError(f"test set {name!r} is new: give its classes with --classes, e.g. imagenet-1k{stored}")
    return FileClassSpaces(classes, classes)


def _new_test_set(content: PredictionFile, name: str, space: ClassSpace, origin: str) -> TestSet:
    if content.examples is None or content.examples.labels is None:
        raise FormatError(
            f"test set {name!r} is not known yet and {origin} has no labels to create it from: add it first with "
            f"regrade testsets add {name} LABELS.csv --classes {space.name}"
        )
    test_set = content.examples.as_test_set(name, space)
    return replace(test_set, ids=PackedTexts.of(test_set.ids))  # packed once, as they are written once per model


def _matched(content: PredictionFile, test_set: TestSet, origin: str, coverage: FileCoverage) -> IdMatch:
    """The row in the file of each example of the test set; without ids, rows are in the order of the test set."""
    if content.examples is not None:
        examples = content.examples
        if coverage is FileCoverage.SOME:
            return examples.matched_with_some(test_set)
        if 0 < len(examples.ids) < len(test_set) and (part := match_some_ids(test_set.ids, examples.ids)):
            raise _incomplete(part, test_set, origin)
        return examples.matched_with(test_set)
    count = len(next(iter(content.predictions.values())).classes)
    if count != len(test_set):
        raise InputError(
            f"{origin} has {count:,} rows, test set {test_set.name} has {len(test_set):,} examples: an array without "
            "ids must have one row per example, in the order of the test set"
        )
    if content.labels is not None:
        check_labels(content.labels, test_set)
    return IdMatch(np.arange(count))


def _incomplete(match: IdMatch, test_set: TestSet, origin: str) -> MismatchError:
    missing = np.flatnonzero(match.rows == NO_ROW)
    count, first = f"{len(missing):,} of the {len(test_set):,} examples", test_set.ids[missing[0]]
    are = "is" if len(missing) == 1 else "are"
    return MismatchError(
        f"{origin}: {count} of {test_set.name} {are} missing, for instance {first!r}: to grade on the rest, give "
        "--partial"
    )


def source_of(path: Path) -> PredictionSource:
    """The name and hash of a file; of a folder, the hash of the names and hashes of its files."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listing = "\n".join(f"{file.relative_to(path).as_posix()} {source_of(file).sha256}" for file in files)
        return PredictionSource(path.name, hashlib.sha256(listing.encode()).hexdigest())
    with path.open("rb") as file:
        return PredictionSource(path.name, hashlib.file_digest(file, "sha256").hexdigest())
