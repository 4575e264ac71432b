"""Reading predictions from arrays: scores or class indices, optionally with ids and labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from regrade.core import ClassSpace, FormatError, InputError
from regrade.core.arrays import IntArray
from regrade.formats.file_predictions import FileClassSpaces, FilePredictions, PredictionFile, predictions_from_scores
from regrade.formats.score_kinds import stated_kind
from regrade.tables import (
    ArrayFile,
    Examples,
    Reading,
    check_ids,
    check_unique,
    class_indices,
    ignored_names,
    one_class_per_row,
    open_arrays,
)

ID_KEYS = ("ids", "image", "images", "id", "example", "examples", "filenames")
_LABEL_KEYS = ("labels", "label", "targets", "target", "y_true")
_PREDICTION_KEYS = ("classes", "topk", "top5", "predictions", "prediction", "pred")
SCORE_KEYS = ("scores", "logits", "probabilities", "probs")
_OPTIONAL_KEYS = ("ids", "labels", "scores")
_WRAPPABLE = (InputError, FormatError)  # their messages are prefixed with the path of the file
NO_IDS = "there are no ids: rows are taken in the order of the test set"


def read_prediction_arrays(path: Path, spaces: FileClassSpaces, model: str) -> PredictionFile:
    arrays = open_arrays(path)
    name = arrays.first_of(("", *SCORE_KEYS, *_PREDICTION_KEYS))
    if name is None:
        raise FormatError(f"{path} has the arrays {', '.join(arrays.declared)}: name the predictions scores or classes")
    try:
        predictions = _array_predictions(arrays, name, spaces.predictions)
        keys = {keys: arrays.first_of(keys) for keys in (ID_KEYS, _LABEL_KEYS)}
        ids = _array_ids(arrays, keys[ID_KEYS], predictions)
        labels = _array_labels(arrays, keys[_LABEL_KEYS], predictions, spaces)
        used = {name, *(key for key in keys.values() if key)}
        notes = ignored_names((*arrays.declared, *arrays.not_arrays), used, optional=_OPTIONAL_KEYS, noun="array")
    except (InputError, FormatError) as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    examples = None if ids is None else Examples(ids, labels)
    notes += () if ids else (NO_IDS,)
    return PredictionFile(examples, {model: predictions}, (*notes, *predictions.notes), labels)


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
    if arrays.declared[name].dtype.kind not in "SUiu":
        raise FormatError(f"{name} contains {arrays.declared[name].dtype}, not text or integers")
    try:
        values = arrays.load(name).ravel().tolist()
        texts = tuple(value.decode() if isinstance(value, bytes) else str(value) for value in values)
        "".join(texts).encode()
    except UnicodeError:
        raise FormatError(f"{name} contains text that is not valid UTF-8") from None
    return texts
