"""Predictions and labels from arrays in memory: which classes they are in, and their class indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import STORED_K, UNLABELED, ClassSpace, InputError, LabelSet, LabelState, MismatchError, Unlisted
from regrade.core.arrays import IntArray
from regrade.formats.file_predictions import FilePredictions, predictions_from_scores
from regrade.formats.prediction_files import refuse_repeated
from regrade.tables import ArrayInput, distinct_values

_MOST_CLASSES = 1_000_000  # a larger class index is more likely an id than an index


class PredictionKind(Enum):
    """What an array of predictions contains: a class per image, scores of all classes, or the best classes in order."""

    CLASSES = "classes"
    SCORES = "scores"
    TOP_K = "top-k"


@dataclass(frozen=True)
class ArrayClasses:
    """The classes that arrays are in; integers are class indices, or class ids if the classes are named by integers."""

    space: ClassSpace
    integers_are_ids: bool = False

    def indices(self, given: ArrayInput) -> IntArray:
        """The class indices of an array of class ids, class names or indices, in its shape; unknown classes raise."""
        values = given.values
        if values.dtype.kind == "f":
            values = _whole(given)
        if values.dtype.kind == "b":
            values = values.astype(np.int64)
        if values.dtype.kind in "iu" and not self.integers_are_ids:
            self._refuse_ambiguous(given.name)
            return self._in_range(values, given.name)
        return self._by_name(values, given.name)

    def of_list(self, given: ArrayInput) -> list[IntArray]:
        """The class indices of each row of an array of lists; a class that a row repeats counts once."""
        flat = np.array([item for row in given.values for item in row])
        indices = self.indices(ArrayInput(given.name, flat)) if len(flat) else np.zeros(0, dtype=np.int64)
        ends = np.cumsum([len(row) for row in given.values])[:-1]
        return [np.unique(part) for part in np.split(indices, ends)]

    def columns_in_order(self, given: ArrayInput) -> NDArray[Any]:
        """Shape (n, c): scores with their columns in the order of the classes, as far as columns have names."""
        if given.columns is None or given.columns == tuple(range(len(self.space))):
            return given.values
        columns = [str(column) for column in given.columns]
        for names in (self.space.ids, self.space.names):
            if set(columns) == set(names) and len(columns) == len(names):
                return given.values[:, [columns.index(name) for name in names]]
        unknown = next((name for name in columns if name not in self.space.ids), None)
        reason = f"column {unknown!r} is not one of them" if unknown else f"there are {len(columns)} columns"
        raise MismatchError(
            f"the columns of {given.name} must be the {len(self.space)} classes of {self.space.name}, but {reason}; "
            "several models are given as a dictionary of arrays"
        )

    def _by_name(self, values: NDArray[Any], name: str) -> IntArray:
        places = {**dict(zip(self.space.names, range(len(self.space)), strict=True)), **self.space.index_of}
        texts = [str(value) for value in values.ravel().tolist()]
        row = next((row for row, text in enumerate(texts) if text not in places), None)
        if row is not None:
            try:
                self.space.index(texts[row])
            except InputError as error:
                raise InputError(f"{name}, row {row // (values.size // len(values)) + 1}: {error}") from None
        return np.array([places[text] for text in texts], dtype=np.int64).reshape(values.shape)

    def _in_range(self, values: NDArray[Any], name: str) -> IntArray:
        outside = np.argwhere((values < 0) | (values >= len(self.space)))
        if len(outside):
            place = tuple(outside[0])
            raise InputError(f"{name}, row {place[0] + 1}: {self.space.outside(values[place])}")
        return values.astype(np.int64)

    def _refuse_ambiguous(self, name: str) -> None:
        numeric = all(class_id.isdigit() for class_id in self.space.ids)
        if numeric and any(int(class_id) != index for index, class_id in enumerate(self.space.ids)):
            raise InputError(
                f"{name} contains integers, and the class ids of {self.space.name} are other numbers: give class ids "
                "as text, or classes as a list of integers"
            )


def given_classes(classes: Iterable[Any], *, name: str = "classes") -> ArrayClasses:
    """The classes of a list of names or of integers, in the order of score columns."""
    listed = list(classes.tolist() if hasattr(classes, "tolist") else classes)
    integers = bool(listed) and all(isinstance(item, int) and not isinstance(item, bool) for item in listed)
    if not integers and not all(isinstance(item, str) for item in listed):
        raise InputError("classes must be a list of names or of integers, in the order of the columns of scores")
    return ArrayClasses(ClassSpace(name, tuple(map(str, listed))), integers)


def inferred_classes(labels: Sequence[ArrayInput], scores: Sequence[ArrayInput]) -> ArrayClasses:
    """The classes of ``labels`` and predicted classes, and of the columns of ``scores``, if none are given.

    Named columns of scores are the classes. Otherwise integers are class indices, and names are sorted, which raises
    next to scores without column names: their order cannot be known.
    """
    named = next((given for given in scores if given.columns and isinstance(given.columns[0], str)), None)
    if named is not None:
        return given_classes(named.columns or ())
    flat = [_flat(given) for given in labels]
    if all(array.dtype.kind in "iubf" for array in flat):
        largest = max((int(np.nanmax(array)) for array in flat if array.size), default=0)
        return _numbered(scores[0].values.shape[1] if scores else largest + 1, largest)
    if scores:
        raise InputError(
            f"{labels[0].name} has class names: give classes=[...] in the order of the columns of {scores[0].name} "
            "(scikit-learn: classes=estimator.classes_)"
        )
    return given_classes(sorted({str(value) for value in distinct_values(flat)}))


def _numbered(count: int, largest: int) -> ArrayClasses:
    if max(count, largest) > _MOST_CLASSES:
        raise InputError(f"class {largest} is a large class index: give classes=[...] if these integers are ids")
    return ArrayClasses(ClassSpace("classes", tuple(map(str, range(max(count, 1))))))


def _flat(given: ArrayInput) -> NDArray[Any]:
    if given.values.dtype == object and len(given) and isinstance(given.values[0], tuple):
        return np.array([item for row in given.values for item in row])
    return given.values


def kind_of(given: ArrayInput, kind: PredictionKind | None) -> PredictionKind:
    """What an array of predictions contains, if not stated: 1-d classes, 2-d scores; 2-d integers raise."""
    dimensions = given.values.ndim
    expected = 1 if kind is PredictionKind.CLASSES else 2
    if dimensions > 2 or (kind is not None and dimensions != expected):
        stated = "classes (n,), scores (n, c) or top-k classes (n, k)" if kind is None else f"{kind.value}"
        raise InputError(f"{given.name} has shape {given.values.shape}: expected {stated}, with {expected} dimensions")
    if kind is not None:
        return kind
    if dimensions == 1:
        return PredictionKind.CLASSES
    if given.values.dtype.kind != "f":
        raise InputError(
            f"{given.name} is a 2-d array of {given.values.dtype}: say kind='top-k' if its rows are the best classes, "
            "kind='scores' if they are scores; several models are given as a dictionary"
        )
    return PredictionKind.SCORES


def predictions_from_array(given: ArrayInput, classes: ArrayClasses, kind: PredictionKind) -> FilePredictions:
    """One model's predictions: a class per image, the best classes in order, or scores of all classes."""
    if kind is PredictionKind.SCORES:
        scores = classes.columns_in_order(given)
        wide = scores.astype(np.float64) if scores.dtype.kind in "iu" else scores
        return predictions_from_scores(wide, classes.space, name=given.name)
    indices = classes.indices(given)
    if kind is PredictionKind.CLASSES:
        return FilePredictions(indices[:, None].astype(np.int32))
    refuse_repeated(indices, given.name, classes.space)
    return FilePredictions(indices[:, :STORED_K].astype(np.int32))


def complete_labels(lists: Sequence[IntArray], classes: ClassSpace, *, name: str, test_set: str) -> LabelSet:
    """A label set of all correct classes of each image; an image without any is not scored, as in ReaL."""
    examples = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
    states = np.full(len(examples), LabelState.CORRECT, dtype=np.int8)
    covered = np.array([len(row) > 0 for row in lists], dtype=bool)
    flat = np.concatenate([*lists, np.zeros(0, dtype=np.int64)])
    reasons = ("",) * len(lists)
    return LabelSet(
        name, 1, test_set, len(classes), examples, flat, states, covered, reasons, Unlisted.WRONG, "lists of classes"
    )


def no_labels(count: int) -> IntArray:
    """Shape (n,): labels of images of which none has a single label."""
    return np.full(count, UNLABELED, dtype=np.int64)


def _whole(given: ArrayInput) -> IntArray:
    """Floating-point class indices as integers; others are most likely the scores of one class."""
    values = given.values
    fractions = np.argwhere(~(np.isfinite(values) & (values == np.floor(values))))
    if len(fractions):
        place = tuple(fractions[0])
        raise InputError(
            f"{given.name}, row {place[0] + 1}: {values[place]:g} is not a class; scores must have one column per "
            "class, shape (n, c), also with two classes"
        )
    return values.astype(np.int64)
