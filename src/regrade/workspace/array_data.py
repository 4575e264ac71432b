"""A test set and predictions from arrays in memory, in the records that studies analyze."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regrade.classes import BUILT_IN, class_space, class_space_from_file
from regrade.core import ClassSpace, InputError, LabelSet, Predictions, TestSet, UnknownName
from regrade.core.names import check_distinct_names, member
from regrade.formats import (
    ArrayClasses,
    FilePredictions,
    PredictionKind,
    complete_labels,
    given_classes,
    inferred_classes,
    kind_of,
    no_labels,
    predictions_from_array,
)
from regrade.store import PredictionSource, Store
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import MultilabelScoring, Scoring
from regrade.tables import ArrayInput, array_input, class_lists
from regrade.workspace.prediction_imports import store_predictions

Classes = str | Path | ClassSpace | Iterable[Any] | None
"""Classes: a built-in class space by name, a file, a `ClassSpace`, or a list of names or integers in order."""

LABELS = "y_true"
"""The name of arrays of labels in messages, and of label sets from lists of classes."""


@dataclass(frozen=True, eq=False)
class ArrayData:
    """A test set and the predictions of models on it; ``labels`` if images may have several correct classes."""

    test_set: TestSet
    predictions: Mapping[str, FilePredictions]
    labels: LabelSet | None = None

    def scored(self) -> Iterator[tuple[Predictions, Scoring]]:
        """The predictions of each model with their scoring."""
        scoring, space = Scoring(self.test_set), self.test_set.class_space.name
        for model, own in self.predictions.items():
            fields = (own.classes, own.scores, own.full_scores, own.score_kind)
            yield Predictions(model, self.test_set.name, space, *fields, ties=own.ties), scoring

    @property
    def reviewed_labels(self) -> ReviewedLabels | None:
        """The label set as studies take it."""
        return None if self.labels is None else ReviewedLabels(MultilabelScoring(self.labels))

    def store_in(self, store: Store) -> None:
        """Store the test set, the predictions and the label set."""
        space = self.test_set.class_space
        store_predictions(store, self.test_set, self.predictions, space=space, source=PredictionSource())
        if self.labels is not None:
            store.labels.add(self.labels, self.test_set)


def array_data(
    y_true: Any,
    y_pred: Any,
    *,
    classes: Classes = None,
    kind: PredictionKind | str | None = None,
    groups: Mapping[str, Any] | None = None,
    test_set: str,
) -> ArrayData:
    """Read labels, groups and the predictions of one model, called "model", or of several in a dictionary.

    All arrays have a row per image in the same order; indices of pandas objects are compared.
    """
    labels = label_input(y_true, name=LABELS)
    if not len(labels):
        raise InputError(f"{LABELS} is empty: there is no image to grade")
    models = model_inputs(y_pred)
    for given in models.values():
        given.check_rows(labels)
    stated = None if kind is None else member(PredictionKind, kind)
    kinds = {model: kind_of(given, stated) for model, given in models.items()}
    resolved = array_classes(classes, labels, models, kinds)
    predictions = {model: predictions_from_array(given, resolved, kinds[model]) for model, given in models.items()}
    return labeled_data(labels, resolved, predictions, group_columns(groups or {}, labels), test_set)


def label_input(y_true: Any, *, name: str) -> ArrayInput:
    """Labels (n,) as an array: a class per image, or a tuple of classes."""
    labels = class_lists(y_true, name=name) or array_input(y_true, name=name)
    if labels.values.ndim != 1:
        raise InputError(
            f"{name} has shape {labels.values.shape}: expected labels (n,), or a list with the classes of each image"
        )
    return labels


def labeled_data(
    labels: ArrayInput,
    classes: ArrayClasses,
    predictions: Mapping[str, FilePredictions],
    groups: Mapping[str, tuple[str, ...]],
    name: str,
) -> ArrayData:
    """The data with labels as the test set's own, or as a label set if rows are lists of classes."""
    if not _has_lists(labels):
        own = classes.indices(labels)
        return ArrayData(TestSet(name, classes.space, labels.ids, own, groups), predictions)
    if not any(len(row) for row in labels.values):
        raise InputError(f"every list of {LABELS} is empty: there is no image to grade")
    label_set = complete_labels(classes.of_list(labels), classes.space, name=LABELS, test_set=name)
    test_set = TestSet(name, classes.space, labels.ids, no_labels(len(labels)), groups)
    return ArrayData(test_set, predictions, label_set)


def model_inputs(y_pred: Any) -> dict[str, ArrayInput]:
    """The arrays of each model: those of a dictionary by its keys, or one array, of the model "model"."""
    if not isinstance(y_pred, Mapping):
        return {"model": array_input(y_pred, name="y_pred")}
    if not y_pred:
        raise InputError("y_pred is an empty dictionary: give predictions by model name")
    for name in y_pred:
        if not isinstance(name, str):
            raise InputError(f"y_pred has the key {name!r}: the keys of a dictionary are names of models")
    check_distinct_names("model", y_pred)
    return {name: array_input(values, name=f"y_pred of {name!r}") for name, values in y_pred.items()}


def group_columns(groups: Mapping[str, Any], labels: ArrayInput) -> dict[str, tuple[str, ...]]:
    """Group columns by name, one value per image, as text."""
    columns = {name: array_input(values, name=f"group {name!r}") for name, values in groups.items()}
    for column in columns.values():
        column.check_rows(labels)
        if column.values.ndim != 1:
            raise InputError(f"{column.name} has shape {column.values.shape}: expected one value per image, (n,)")
    return {name: tuple(map(str, column.values.tolist())) for name, column in columns.items()}


def array_classes(
    classes: Classes, labels: ArrayInput, models: Mapping[str, ArrayInput], kinds: Mapping[str, PredictionKind]
) -> ArrayClasses:
    """The classes as given, or those that labels, predicted classes and score columns imply."""
    if classes is not None:
        return named_classes(classes)
    scores = [given for model, given in models.items() if kinds[model] is PredictionKind.SCORES]
    predicted = [given for model, given in models.items() if kinds[model] is not PredictionKind.SCORES]
    return inferred_classes([labels, *predicted], scores)


def named_classes(classes: str | Path | ClassSpace | Iterable[Any]) -> ArrayClasses:
    """The classes of a built-in class space by name, of a file, or of a list."""
    if isinstance(classes, ClassSpace):
        return ArrayClasses(classes)
    if isinstance(classes, str | Path):
        if str(classes) in BUILT_IN:
            return ArrayClasses(class_space(str(classes)))
        if not Path(classes).exists():
            raise UnknownName("class space", str(classes), BUILT_IN, hint=" (or give a list of class names)")
        return ArrayClasses(class_space_from_file(Path(classes)))
    return given_classes(classes)


def _has_lists(labels: ArrayInput) -> bool:
    return labels.values.dtype == object and isinstance(labels.values[0], tuple)
