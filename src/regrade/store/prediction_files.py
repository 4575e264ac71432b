"""Reading predictions that people bring: one model a file, or one column a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import ClassSpace, FormatError, InputError, ScoreKind
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import top_k_classes
from regrade.tables import (
    Columns,
    Examples,
    Reading,
    check_file,
    check_unique,
    class_indices,
    first_line,
    is_list,
    is_text,
    one_class_each,
    read_examples,
    read_table,
)

ANSWER_COLUMNS = (
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
ARRAY_SUFFIXES = (".npy", ".npz")
STORED_K = 5
_NUMBERED = re.compile(r"(?:top|pred|prediction|class)_?(\d+)$")
ID_KEYS = ("ids", "image", "images", "id", "example", "examples", "filenames")
_LABEL_KEYS = ("labels", "label", "targets", "target", "y_true")
_ANSWER_KEYS = ("classes", "topk", "top5", "predictions", "prediction", "pred")
SCORE_KEYS = ("scores", "logits", "probabilities", "probs")


@dataclass(frozen=True)
class Answers:
    """One model's answers in file order: best classes (n, k), their scores, and all scores (n, c)."""

    classes: IntArray
    scores: FloatArray | None = None
    full_scores: FloatArray | None = None
    score_kind: ScoreKind | None = None

    def reordered(self, rows: IntArray) -> Answers:
        """The answers in another order of examples."""
        if np.array_equal(rows, np.arange(len(self.classes))):
            return self
        return Answers(
            self.classes[rows],
            None if self.scores is None else self.scores[rows],
            None if self.full_scores is None else self.full_scores[rows],
            self.score_kind,
        )


@dataclass(frozen=True)
class PredictionFile:
    """What a file holds: examples (none if it only follows a test set's order) and answers by model."""

    examples: Examples | None
    answers: Mapping[str, Answers]


@dataclass(frozen=True)
class Spaces:
    """The class spaces of a file: that of the predictions and that of the labels, mostly the same."""

    predictions: ClassSpace
    labels: ClassSpace


def read_prediction_file(path: Path, spaces: Spaces, *, columns: Columns, model: str | None) -> PredictionFile:
    """Read predictions from CSV, TSV, Parquet, JSON lines, NPY or NPZ; anything amiss raises in one line.

    With ``model`` a table is one model's; without it every column that does not speak of the
    examples is a model. An array is always one model's, named after the file if not by ``model``.
    """
    if path.suffix.lower() in ARRAY_SUFFIXES:
        found = _read_arrays(path, spaces, model or path.stem)
    else:
        found = _read_prediction_table(path, spaces, columns, model)
    for name, answers in found.answers.items():
        _refuse_repeated(answers.classes, name, spaces.predictions)
    return found


def answers_from_scores(scores: FloatArray, space: ClassSpace, *, name: str) -> Answers:
    """Answers from all scores (n, c): top k in the scores' own precision, kind found by their sums."""
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
    return Answers(classes, best.astype(np.float32), scores, _kind(scores))


def _kind(scores: FloatArray) -> ScoreKind:
    sums = scores.sum(axis=1, dtype=np.float64)
    if scores.min() >= 0 and np.abs(sums - 1).max() < 1e-2:
        return ScoreKind.PROBABILITIES
    return ScoreKind.LOGITS


def _read_prediction_table(path: Path, spaces: Spaces, columns: Columns, model: str | None) -> PredictionFile:
    table = read_table(path)
    try:
        examples = read_examples(table, spaces.labels, columns)
        speaking_of_examples = columns.used_in(table)
        rest = [name for name in table.column_names if name not in speaking_of_examples]
        if model is None:
            answers = _one_column_a_model(table, rest, spaces.predictions, columns.reading)
        else:
            answers = {model: _one_model(table, rest, spaces.predictions, columns.reading)}
    except InputError as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    return PredictionFile(examples, answers)


_WRAPPABLE = (InputError, FormatError)  # their messages take the file's name in front


def _one_column_a_model(table: pa.Table, names: list[str], space: ClassSpace, reading: Reading) -> dict[str, Answers]:
    if not names:
        raise FormatError("there is no column with predictions")
    if all(name in (*ANSWER_COLUMNS, *SCORE_COLUMNS) or _NUMBERED.match(name) for name in names):
        raise FormatError(f"the columns {', '.join(names)} look like one model's answers: name it with --model")
    answers = {}
    for name in names:
        try:
            answers[name] = Answers(class_indices(table[name], space, name=name, reading=reading))
        except InputError as error:
            raise FormatError(f"{error}; if {name!r} is no model but a group, say --group {name}") from None
    return answers


def _one_model(table: pa.Table, names: list[str], space: ClassSpace, reading: Reading) -> Answers:
    if set(space.ids) <= set(names):
        scores = np.column_stack([_numbers(table[c], c) for c in space.ids])
        return answers_from_scores(scores, space, name="the file")
    score_column = next((name for name in SCORE_COLUMNS if name in names), None)
    answer_columns = _answer_columns([name for name in names if name != score_column])
    if not answer_columns:
        if score_column is None:
            raise FormatError(f"there is no column with predictions: call it {ANSWER_COLUMNS[0]}")
        return answers_from_scores(_number_lists(table[score_column], score_column), space, name=score_column)
    classes = np.concatenate(
        [class_indices(table[name], space, name=name, reading=reading) for name in answer_columns], axis=1
    )
    if score_column is None:
        return Answers(classes)
    return _with_scores(classes, _number_lists(table[score_column], score_column))


def _answer_columns(names: list[str]) -> list[str]:
    """The columns of the answers: a usual name, numbered ones in order, or the only one there is."""
    numbered = {int(match[1]): name for name in names if (match := _NUMBERED.match(name))}
    in_a_row = len(numbered) > 1 and max(numbered) - min(numbered) == len(numbered) - 1
    ranked = set(numbered.values()) if in_a_row else set()  # top5 holds five answers, or the fifth after top1 to top4
    usual = [name for name in ANSWER_COLUMNS if name in names and name not in ranked]
    if usual:
        return usual[:1]
    if numbered:
        return [numbered[rank] for rank in sorted(numbered)]
    if len(names) > 1:
        raise FormatError(f"which of {', '.join(names[:6])} holds the predictions? call it {ANSWER_COLUMNS[0]}")
    return names


def _with_scores(classes: IntArray, scores: FloatArray) -> Answers:
    if scores.shape != classes.shape:
        raise FormatError(f"{classes.shape[1]} classes but {scores.shape[1]} scores a row")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"row {row}: a score is not a finite number")
    if np.abs(scores).max() > np.finfo(np.float32).max:
        row = int(np.abs(scores).max(axis=1).argmax())
        raise InputError(f"row {row}: a score is larger than single precision can hold: scale the scores down")
    if (np.diff(scores, axis=1) > 0).any():
        row = int(np.flatnonzero((np.diff(scores, axis=1) > 0).any(axis=1))[0])
        raise FormatError(f"row {row}: the classes must come best first, but their scores rise")
    likely = scores.min() >= 0 and scores.sum(axis=1).max() <= 1 + 1e-2
    kind = ScoreKind.PROBABILITIES if likely else ScoreKind.LOGITS
    return Answers(classes, scores.astype(np.float32), None, kind)


def _numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    try:
        values = column.cast(pa.float64())
    except pa.ArrowException:
        raise FormatError(f"column {name!r} holds {column.type}, not scores") from None
    if values.null_count:
        raise FormatError(f"column {name!r} has {values.null_count:,} empty cells")
    return values.to_numpy()


def _number_lists(column: pa.ChunkedArray, name: str) -> FloatArray:
    """Shape (n, k): a column of scores, one a row or a list of k, also as text such as ``0.7 0.2``."""
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


def _read_arrays(path: Path, spaces: Spaces, model: str) -> PredictionFile:
    check_file(path)
    arrays = load_arrays(path)
    answer = arrays[""] if "" in arrays else _entry(arrays, (*SCORE_KEYS, *_ANSWER_KEYS))
    if answer is None:
        raise FormatError(f"{path} has the arrays {', '.join(arrays)}; the answers must be called scores or classes")
    try:
        answers = _array_answers(answer, spaces.predictions)
        return PredictionFile(_array_examples(arrays, spaces.labels, len(answer)), {model: answers})
    except (InputError, FormatError) as error:
        raise type(error)(f"{path}: {error}") from None


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file by name, the only one of an NPY file under no name."""
    try:
        arrays = _load_archive(path) if _is_archive(path) else {"": np.load(path, allow_pickle=False, mmap_mode="r")}
    except Exception as error:  # damage shows as whatever error zip, zlib or numpy's parser of headings has for it
        raise FormatError(f"{path} cannot be read as {path.suffix.lower()[1:]}: {first_line(error)}") from None
    return {name: np.asarray(array, dtype=array.dtype.newbyteorder("=")) for name, array in arrays.items()}


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _load_archive(path: Path) -> dict[str, Any]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _array_answers(array: Any, space: ClassSpace) -> Answers:
    if not array.size and array.ndim:
        raise FormatError(f"the array has shape {array.shape}: it holds nothing")
    if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
        return answers_from_scores(array, space, name="the array")
    if array.ndim not in (1, 2) or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"the array has shape {array.shape} of {array.dtype}: expected scores (examples, {len(space)}), "
            "or class indices (examples,) or (examples, k)"
        )
    flat = pa.chunked_array([pa.array(array.ravel())])
    indices = class_indices(flat, space, name="the array", reading=Reading.INDICES)
    return Answers(indices.reshape(len(array), -1))


def _array_examples(arrays: Mapping[str, Any], space: ClassSpace, rows: int) -> Examples | None:
    ids = _entry(arrays, ID_KEYS)
    if ids is None:
        return None
    labels = _entry(arrays, _LABEL_KEYS)
    for what, values in (("ids", ids), ("labels", labels)):
        if values is not None and values.shape != (rows,):
            raise FormatError(f"{rows:,} rows of answers, so shape ({rows},) is wanted for {what}, not {values.shape}")
    names = tuple(i.decode(errors="replace") if isinstance(i, bytes) else str(i) for i in ids)
    check_unique(names)
    if labels is None:
        return Examples(names, None)
    column = pa.chunked_array([pa.array(np.asarray(labels))])
    return Examples(names, one_class_each(column, space, name="labels", reading=Reading.AUTO))


def _entry(arrays: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays[name] for name in names if name in arrays), None)


def _refuse_repeated(classes: IntArray, model: str, space: ClassSpace) -> None:
    """A class that a row lists twice is a mistake of whoever wrote the file."""
    ordered = np.sort(classes, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        name = space.ids[ordered[row, 1:][twice[row]][0]]
        raise InputError(f"model {model!r}, row {row}: class {name} is listed twice")
