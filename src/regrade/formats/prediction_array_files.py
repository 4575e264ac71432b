"""Reading predictions from arrays: scores or class indices, optionally with ids and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from regrade.core import ClassSpace, FormatError, InputError, MismatchError, UnknownName
from regrade.core.arrays import IntArray
from regrade.formats.file_predictions import (
    NO_IDS,
    FileClassSpaces,
    FilePredictions,
    PredictionFile,
    predictions_from_scores,
)
from regrade.formats.score_columns import with_scores
from regrade.formats.score_kinds import stated_kind
from regrade.tables import (
    TORCH_SUFFIXES,
    ArrayFile,
    Columns,
    Examples,
    Reading,
    check_ids,
    check_unique,
    class_indices,
    ignored_names,
    one_class_per_row,
    open_arrays,
    open_torch_arrays,
)

ID_KEYS = ("ids", "image", "images", "id", "example", "examples", "filenames", "filename", "paths", "files")
_LABEL_KEYS = ("labels", "label", "targets", "target", "y_true", "y_test", "label_ids", "y", "gt", "ground_truth")
_PREDICTION_KEYS = ("classes", "topk", "top5", "predictions", "prediction", "preds", "pred", "y_pred", "indices")
SCORE_KEYS = ("scores", "logits", "probabilities", "probs", "logit", "prob", "outputs", "output", "y_score")
_SHOWN = 6
_OPTIONAL_KEYS = ("ids", "labels", "scores")
_WRAPPABLE = (InputError, FormatError)  # their messages are prefixed with the path of the file


def read_prediction_arrays(path: Path, spaces: FileClassSpaces, columns: Columns, model: str) -> PredictionFile:
    """Read an NPY, NPZ or torch file with the predictions of one model."""
    arrays = open_torch_arrays(path) if path.suffix.lower() in TORCH_SUFFIXES else open_arrays(path)
    try:
        names = _ArrayNames.among(arrays, columns, spaces.predictions)
        predictions = _best_with_scores(arrays, names, spaces.predictions) or _array_predictions(
            arrays, names.predictions, spaces.predictions
        )
        ids = _array_ids(arrays, names.ids, predictions)
        labels = _array_labels(arrays, names.labels, predictions, spaces)
        _refuse_more_predictions(arrays, names, predictions)
        everything = (*arrays.declared, *arrays.not_arrays)
        notes = ignored_names(everything, names.used, optional=_OPTIONAL_KEYS, noun="array")
    except (InputError, FormatError) as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    examples = None if ids is None else Examples(ids, labels)
    notes += () if ids else (NO_IDS,)
    roles = names.roles(predictions)
    return PredictionFile(examples, {model: predictions}, (*notes, *predictions.notes), labels, roles)


@dataclass(frozen=True)
class _ArrayNames:
    """The names of the arrays of predictions, ids and labels; that of a single array is empty."""

    predictions: str
    ids: str | None
    labels: str | None

    @classmethod
    def among(cls, arrays: ArrayFile, columns: Columns, space: ClassSpace) -> _ArrayNames:
        ids = _stated(columns.id, arrays, "ids") or arrays.first_of(ID_KEYS)
        labels = _stated(columns.label, arrays, "labels") or arrays.first_of(_LABEL_KEYS)
        stated = columns.predictions[0] if columns.predictions else ""
        predictions = _stated(stated, arrays, "predictions")
        if predictions is None:
            predictions = arrays.first_of(("", *SCORE_KEYS, *_PREDICTION_KEYS))
        if predictions is None:
            predictions = _only_scores(arrays, space)
        return cls(predictions, ids, labels)

    @property
    def used(self) -> set[str]:
        return {self.predictions, *(name for name in (self.ids, self.labels) if name)}

    def roles(self, predictions: FilePredictions) -> dict[str, str]:
        kind = f" ({predictions.score_kind.value})" if predictions.score_kind else ""
        is_classes = predictions.full_scores is None and not kind
        content = "prediction, classes by indices" if is_classes else f"scores{kind}"
        roles = {self.predictions or "the array": content}
        roles |= {self.ids: "ids"} if self.ids else {}
        return roles | ({self.labels: "labels"} if self.labels else {})


def _stated(name: str, arrays: ArrayFile, what: str) -> str | None:
    """The name of an array that an option states, if any; raise if there is no such array."""
    if not name:
        return None
    if name not in arrays.declared:
        raise UnknownName(f"array for the {what}", name, list(arrays.declared))
    return name


def _only_scores(arrays: ArrayFile, space: ClassSpace) -> str:
    """The only array with a score per class; raise if there is none, or if there are several."""
    shapes = {name: declared.shape for name, declared in arrays.declared.items() if declared.dtype.kind == "f"}
    fitting = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] == len(space)]
    if len(fitting) == 1 and not fitting[0].endswith("weight"):
        return fitting[0]
    if len(fitting) > 1:
        raise FormatError(
            f"has several arrays with a score per class, {', '.join(fitting[:_SHOWN])}: import one model at a time, "
            f"with --prediction-column {fitting[0]} --model NAME"
        )
    listed = ", ".join(list(arrays.declared)[:_SHOWN])
    raise FormatError(f"has the arrays {listed}: choose the predictions with --prediction-column, or name them scores")


def _refuse_more_predictions(arrays: ArrayFile, names: _ArrayNames, predictions: FilePredictions) -> None:
    """Raise if an array of predicted classes next to the scores contains other best classes."""
    name = arrays.first_of(_PREDICTION_KEYS)
    if name is None or name in names.used or predictions.full_scores is None:
        return
    declared = arrays.declared[name]
    if declared.dtype.kind not in "iu" or declared.shape[:1] != predictions.classes.shape[:1]:
        return
    best = arrays.load(name).reshape(len(predictions.classes), -1)[:, 0]
    differs = np.flatnonzero(best != predictions.classes[:, 0])
    if differs.size:
        row = int(differs[0])
        raise MismatchError(
            f"row {row + 1}: {name} is class {best[row]}, but the best score of {names.predictions} is that of class "
            f"{predictions.classes[row, 0]}: choose one of them with --prediction-column"
        )


def _best_with_scores(arrays: ArrayFile, names: _ArrayNames, space: ClassSpace) -> FilePredictions | None:
    """Predictions from two arrays (n, k) of the best classes and their scores, as `torch.topk` returns; else None."""
    name = arrays.first_of(_PREDICTION_KEYS)
    if name is None or name in names.used:
        return None
    scores, classes = arrays.declared[names.predictions], arrays.declared[name]
    if scores.shape != classes.shape or scores.dtype.kind != "f" or classes.dtype.kind not in "iu":
        return None
    best = _array_predictions(arrays, name, space).classes
    values = arrays.load(names.predictions).reshape(best.shape).astype(np.float64)
    return with_scores(best, values, names.predictions, stated_kind(names.predictions))


def _array_predictions(arrays: ArrayFile, name: str, space: ClassSpace) -> FilePredictions:
    """Predictions from scores or class indices; shape and dtype are checked before the array is read."""
    declared = arrays.declared[name]
    shape, dtype = declared.shape, declared.dtype
    if 0 in shape:
        raise FormatError(f"the array has shape {shape}: it is empty")
    if len(shape) == 2 and shape[1] == len(space) and np.issubdtype(dtype, np.floating):
        return predictions_from_scores(arrays.load(name), space, name=name or "the array", stated=stated_kind(name))
    if len(shape) not in (1, 2) or not np.issubdtype(dtype, np.integer):
        arrays.check(name)
        raise InputError(
            f"the array has shape {shape} of {dtype}: expected scores (examples, {len(space)}), "
            "or class indices (examples,) or (examples, k)"
        )
    array = arrays.load(name)
    flat = pa.chunked_array([pa.array(array.ravel())])
    indices = class_indices(flat, space, name="the array", reading=Reading.INDICES)
    return FilePredictions(indices.reshape(len(array), -1))


def _array_ids(arrays: ArrayFile, name: str | None, predictions: FilePredictions) -> tuple[str, ...] | None:
    if name is None:
        return None
    _check_rows(arrays, name, len(predictions.classes))
    ids = array_texts(arrays, name)
    check_unique(ids)
    check_ids(ids)
    return ids


def _array_labels(
    arrays: ArrayFile, name: str | None, predictions: FilePredictions, spaces: FileClassSpaces
) -> IntArray | None:
    if name is None:
        return None
    _check_rows(arrays, name, len(predictions.classes))
    texts = arrays.declared[name].dtype.kind in "SU"
    column = pa.chunked_array([pa.array(array_texts(arrays, name) if texts else arrays.load(name))])
    return one_class_per_row(column, spaces.labels, name="labels", reading=Reading.AUTO)


def _check_rows(arrays: ArrayFile, name: str, rows: int) -> None:
    if (shape := arrays.declared[name].shape) != (rows,):
        raise FormatError(f"{rows:,} rows of predictions, but {name} has shape {shape}: expected ({rows},)")


def array_texts(arrays: ArrayFile, name: str) -> tuple[str, ...]:
    """The strings or integers of an array as strings; raise on other types, or if they are not UTF-8."""
    if arrays.declared[name].dtype.kind == "O":
        raise FormatError(f"{name} contains Python objects: save text, {name}={name}.astype(str)")
    if arrays.declared[name].dtype.kind not in "SUiu":
        raise FormatError(f"{name} contains {arrays.declared[name].dtype}, not text or integers")
    try:
        values = arrays.load(name).ravel().tolist()
        texts = tuple(value.decode() if isinstance(value, bytes) else str(value) for value in values)
        "".join(texts).encode()
    except UnicodeError:
        raise FormatError(f"{name} contains text that is not valid UTF-8") from None
    return texts
