"""Reading predictions to import: one model per file, or one model per column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import STORED_K, ClassSpace, FormatError, InputError, ScoreKind, UnknownName
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.names import misspelling
from regrade.formats.score_kinds import best_kind_note, kind_note, kind_of_all, kind_of_best, stated_kind, sum_to_1
from regrade.metrics import top_k_classes
from regrade.tables import (
    ARRAY_SUFFIXES,
    LABEL_COLUMNS,
    ArrayFile,
    Columns,
    Examples,
    Reading,
    check_ids,
    check_unique,
    class_indices,
    ignored_columns,
    ignored_names,
    is_list,
    is_text,
    one_class_per_row,
    open_arrays,
    read_examples,
    read_table,
)

PREDICTION_COLUMNS = (
    "prediction",
    "predictions",
    "predicted",
    "pred",
    "classes",
    "topk",
    "top5",
    "answer",
    "y_pred",
)
SCORE_COLUMNS = ("scores", "score", "confidence", "probability", "probabilities", "logits")
_OPTIONAL_COLUMNS = ("scores", "probabilities", "logits")
_NUMBERED = re.compile(r"(?:top|pred|prediction|class)_?(\d+)$")
ID_KEYS = ("ids", "image", "images", "id", "example", "examples", "filenames")
_LABEL_KEYS = ("labels", "label", "targets", "target", "y_true")
_PREDICTION_KEYS = ("classes", "topk", "top5", "predictions", "prediction", "pred")
SCORE_KEYS = ("scores", "logits", "probabilities", "probs")
_OPTIONAL_KEYS = ("ids", "labels", "scores")
NO_IDS = "there are no ids: rows are taken in the order of the test set"


@dataclass(frozen=True)
class FilePredictions:
    """One model's predictions in file order: best classes (n, k), their scores, and all scores (n, c).

    ``notes`` say how scores were interpreted.
    """

    classes: IntArray
    scores: FloatArray | None = None
    full_scores: FloatArray | None = None
    score_kind: ScoreKind | None = None
    notes: tuple[str, ...] = ()

    def reordered(self, rows: IntArray) -> FilePredictions:
        """The predictions in another order of examples."""
        if np.array_equal(rows, np.arange(len(self.classes))):
            return self
        return FilePredictions(
            self.classes[rows],
            None if self.scores is None else self.scores[rows],
            None if self.full_scores is None else self.full_scores[rows],
            self.score_kind,
            self.notes,
        )


@dataclass(frozen=True)
class PredictionFile:
    """The content of a file: examples (None if it has no ids), predictions by model, and notes for the user.

    ``labels`` (n,) are those of a file without ids.
    """

    examples: Examples | None
    predictions: Mapping[str, FilePredictions]
    notes: tuple[str, ...] = ()
    labels: IntArray | None = None


@dataclass(frozen=True)
class FileClassSpaces:
    """The class space of the predictions in a file, and that of its labels, usually the same."""

    predictions: ClassSpace
    labels: ClassSpace


def read_prediction_file(path: Path, spaces: FileClassSpaces, *, columns: Columns, model: str | None) -> PredictionFile:
    """Read predictions from CSV, TSV, Parquet, JSON lines, NPY or NPZ; a file that does not fit raises.

    With ``model``, a table contains one model; without it, every column except ids, labels and groups is a model. An
    array always contains one model, named after the file if ``model`` is None.
    """
    if path.suffix.lower() in ARRAY_SUFFIXES:
        content = _read_arrays(path, spaces, model or path.stem)
    else:
        content = read_prediction_table(read_table(path), spaces, columns=columns, model=model, origin=str(path))
    for name, predictions in content.predictions.items():
        refuse_repeated(predictions.classes, name, spaces.predictions)
    return content


def predictions_from_scores(
    scores: FloatArray, space: ClassSpace, *, name: str, stated: ScoreKind | None = None
) -> FilePredictions:
    """Predictions from all scores (n, c): top k in the scores' own precision, kind of scores by their sums.

    Raises if scores that are ``stated`` to be probabilities are not.
    """
    if scores.dtype.kind not in "fiu" or scores.dtype.itemsize > 8:
        raise InputError(f"scores of {name!r} are {scores.dtype}: expected float16, float32 or float64")
    if scores.ndim != 2 or scores.shape[1] != len(space):
        raise InputError(
            f"scores of {name!r} have shape {scores.shape}: expected (examples, {len(space)}) for {space.name}"
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"scores of {name!r}, row {row}: not a finite number")
    if np.abs(scores).max() > np.finfo(np.float16).max:
        raise InputError(f"scores of {name!r} are larger than half precision can hold: scale them down")
    classes = top_k_classes(scores, k=min(STORED_K, len(space)))
    best = np.take_along_axis(scores, classes, axis=1)
    kind = kind_of_all(scores, name=name, stated=stated)
    return FilePredictions(classes, best.astype(np.float32), scores, kind, kind_note(scores, kind, stated=stated))


def read_prediction_table(
    table: pa.Table, spaces: FileClassSpaces, *, columns: Columns, model: str | None, origin: str
) -> PredictionFile:
    """Read predictions from a table with ids, as `read_prediction_file`; ``origin`` is named in messages."""
    try:
        examples = read_examples(table, spaces.labels, columns)
        example_columns = columns.used_in(table)
        rest = [name for name in table.column_names if name not in example_columns]
        label_columns = () if columns.label_in(table) else LABEL_COLUMNS
        if model is None:
            _refuse_misspelled(rest, (*PREDICTION_COLUMNS, *SCORE_COLUMNS, *label_columns))
            predictions = _one_model_per_column(table, rest, spaces.predictions, columns.reading)
            used = set(rest)
        else:
            chosen = _ModelColumns.among(rest, spaces.predictions)
            predictions = {model: _one_model(table, chosen, spaces.predictions, columns.reading)}
            used = chosen.used
            _refuse_misspelled(chosen.classes, PREDICTION_COLUMNS)
            unused = [name for name in rest if name not in used]
            _refuse_misspelled(unused, label_columns)
            _refuse_more_classes(table, unused, predictions[model], spaces.predictions)
        optional = _OPTIONAL_COLUMNS if all(own.scores is None for own in predictions.values()) and model else ()
        notes = ignored_columns(table, {*columns.read_from(table), *used}, optional=optional)
    except InputError as error:
        raise type(error)(f"{origin}: {error}") if type(error) in _WRAPPABLE else error from None
    model_notes = [note for own in predictions.values() for note in own.notes]
    return PredictionFile(examples, predictions, (*notes, *model_notes))


_WRAPPABLE = (InputError, FormatError)  # their messages are prefixed with the path of the file


def _refuse_misspelled(names: Iterable[str], usual: Sequence[str]) -> None:
    """Raise if the name of a column is nearly one of the usual names."""
    for name in names:
        is_usual = name.casefold() in usual or _NUMBERED.match(name.casefold())
        if not is_usual and (near := misspelling(name, usual)):
            raise UnknownName("column", name, [near], hint=" (rename it, also if it is something else)")


def _one_model_per_column(
    table: pa.Table, names: list[str], space: ClassSpace, reading: Reading
) -> dict[str, FilePredictions]:
    if not names:
        raise FormatError("there is no column with predictions")
    if all(
        name.casefold() in (*PREDICTION_COLUMNS, *SCORE_COLUMNS) or _NUMBERED.match(name.casefold()) for name in names
    ):
        raise FormatError(f"the columns {', '.join(names)} look like one model's predictions: name it with --model")
    predictions = {}
    for name in names:
        try:
            predictions[name] = FilePredictions(class_indices(table[name], space, name=name, reading=reading))
        except InputError as error:
            raise FormatError(f"{error}; if {name!r} is a group and not a model, give --group {name}") from None
    return predictions


@dataclass(frozen=True)
class _ModelColumns:
    """The columns of one model: a score for every class, or the best classes and their scores."""

    all_scores: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    scores: str | None = None

    @classmethod
    def among(cls, names: list[str], space: ClassSpace) -> _ModelColumns:
        distinct_names = set(names)
        missing = [class_id for class_id in space.ids if class_id not in distinct_names]
        if not missing:
            return cls(all_scores=space.ids)
        if len(missing) < len(space) / 2 and not any(name.casefold() in PREDICTION_COLUMNS for name in names):
            raise FormatError(
                f"expected a column of scores for every class of {space.name}, but {missing[0]!r} has none"
            )
        score_column = next((name for usual in SCORE_COLUMNS for name in names if name.casefold() == usual), None)
        class_columns = _class_columns([name for name in names if name != score_column])
        if not class_columns and score_column is None:
            raise FormatError(f"there is no column with predictions: name it {PREDICTION_COLUMNS[0]}")
        return cls(classes=tuple(class_columns), scores=score_column)

    @property
    def used(self) -> set[str]:
        return {*self.all_scores, *self.classes, *([self.scores] if self.scores else [])}


def _one_model(table: pa.Table, chosen: _ModelColumns, space: ClassSpace, reading: Reading) -> FilePredictions:
    if chosen.all_scores:
        scores = np.column_stack([_numbers(table[name], name) for name in chosen.all_scores])
        return predictions_from_scores(scores, space, name="the file")
    scores_by_rank = None if chosen.scores is None else _number_lists(table[chosen.scores], chosen.scores)
    stated = None if chosen.scores is None else stated_kind(chosen.scores)
    if scores_by_rank is not None and not chosen.classes:
        return predictions_from_scores(scores_by_rank, space, name=str(chosen.scores), stated=stated)
    classes = np.concatenate(
        [class_indices(table[name], space, name=name, reading=reading) for name in chosen.classes], axis=1
    )
    _refuse_later_rank(classes, chosen.classes)
    if scores_by_rank is None:
        return FilePredictions(classes)
    return _with_scores(classes, scores_by_rank, str(chosen.scores), stated)


def _refuse_more_classes(table: pa.Table, names: list[str], predictions: FilePredictions, space: ClassSpace) -> None:
    """Raise if further columns contain scores too: the file has classes that the class space lacks."""
    if predictions.full_scores is None or predictions.score_kind is ScoreKind.PROBABILITIES:
        return
    more = {name: column for name in names if (column := _scores_or_none(table[name], name)) is not None}
    if more and sum_to_1(np.column_stack([predictions.full_scores, *more.values()])):
        raise InputError(
            f"the scores sum to 1 only with the columns {', '.join(more)}, which are not classes of {space.name}: "
            "give a class space that has them with --classes"
        )


def _scores_or_none(column: pa.ChunkedArray, name: str) -> FloatArray | None:
    try:
        return _numbers(column, name)
    except FormatError:
        return None


def _class_columns(names: list[str]) -> list[str]:
    """The columns of the predicted classes: one with a usual name, numbered ones in order, or the only column."""
    numbered = {int(match[1]): name for name in names if (match := _NUMBERED.match(name.casefold()))}
    in_a_row = len(numbered) > 1 and max(numbered) - min(numbered) == len(numbered) - 1
    ranked = set(numbered.values()) if in_a_row else set()  # top5 has five classes, or the fifth after top1 to top4
    usual = [name for usual in PREDICTION_COLUMNS for name in names if name.casefold() == usual and name not in ranked]
    if usual:
        return usual[:1]
    if numbered:
        _refuse_gaps(numbered)
        return [numbered[rank] for rank in sorted(numbered)]
    if len(names) > 1:
        raise FormatError(
            f"the predictions could be in {', '.join(names[:6])}: name their column {PREDICTION_COLUMNS[0]}"
        )
    return names


def _refuse_gaps(numbered: Mapping[int, str]) -> None:
    """Raise if a rank is missing; ranks start at 0 or 1. A single column may contain lists, such as top3."""
    gap = next((rank for rank in range(min(1, *numbered), max(numbered)) if rank not in numbered), None)
    if len(numbered) > 1 and gap is not None:
        missing = re.sub(r"\d+$", str(gap), numbered[min(numbered)])
        raise FormatError(
            f"the columns {', '.join(numbered.values())} number the best classes, and {missing} is missing"
        )


def _refuse_later_rank(classes: IntArray, columns: Sequence[str]) -> None:
    """Raise if the only column is numbered as the second best class or a later one, and has one class per row."""
    match = _NUMBERED.match(columns[0].casefold()) if len(columns) == 1 and classes.shape[1] == 1 else None
    if match and int(match[1]) > 1:
        best = re.sub(r"\d+$", "1", columns[0])
        raise FormatError(
            f"the column {columns[0]} has one class per row, and the column {best} with the best class is missing"
        )


def _with_scores(classes: IntArray, scores: FloatArray, name: str, stated: ScoreKind | None) -> FilePredictions:
    if scores.shape != classes.shape:
        raise FormatError(f"{classes.shape[1]} classes but {scores.shape[1]} scores per row")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"row {row}: a score is not a finite number")
    if np.abs(scores).max() > np.finfo(np.float32).max:
        row = int(np.abs(scores).max(axis=1).argmax())
        raise InputError(
            f"row {row}: a score of {name!r} is larger than single precision can hold: scale the scores down"
        )
    if (np.diff(scores, axis=1) > 0).any():
        row = int(np.flatnonzero((np.diff(scores, axis=1) > 0).any(axis=1))[0])
        raise FormatError(f"row {row}: the best class must come first, but the scores increase")
    kind = kind_of_best(scores, name=name, stated=stated)
    notes = best_kind_note(scores, kind, name=name, stated=stated)
    return FilePredictions(classes, scores.astype(np.float32), None, kind, notes)


def _numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    try:
        values = column.cast(pa.float64())
    except pa.ArrowException:
        raise FormatError(f"column {name!r} contains {column.type}, not scores") from None
    if values.null_count:
        raise FormatError(f"column {name!r} has {values.null_count:,} empty cells")
    return values.to_numpy()


def _number_lists(column: pa.ChunkedArray, name: str) -> FloatArray:
    """Shape (n, k): a column of scores, one per row or a list of k, also as text such as ``0.7 0.2``."""
    values = column.combine_chunks()
    if is_text(values.type):
        mark = ";" if ";" in str(values[0].as_py()) else " "
        values = pc.split_pattern(pc.utf8_trim_whitespace(values), mark)
    if not is_list(values.type):
        return _numbers(column, name)[:, None]
    lengths = pc.list_value_length(values)
    if lengths.null_count or pc.min(lengths).as_py() != pc.max(lengths).as_py():
        raise FormatError(f"column {name!r}: every row must list the same number of scores")
    return _numbers(pa.chunked_array([pc.list_flatten(values)]), name).reshape(len(values), -1)


def _read_arrays(path: Path, spaces: FileClassSpaces, model: str) -> PredictionFile:
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


def refuse_repeated(classes: IntArray, model: str, space: ClassSpace) -> None:
    """Raise if a row lists a class twice."""
    ordered = np.sort(classes, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        name = space.ids[ordered[row, 1:][twice[row]][0]]
        raise InputError(f"model {model!r}, row {row}: class {name} is listed twice")
