"""Reading predictions that people bring: one model a file, or one column a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import ClassSpace, FormatError, InputError, ScoreKind, UnknownName
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.near_names import misspelling
from regrade.metrics import top_k_classes
from regrade.store.score_kinds import best_kind_note, kind_note, kind_of_all, kind_of_best, stated_kind, sum_to_1
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
    one_class_each,
    open_arrays,
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
STORED_K = 5
_OPTIONAL_COLUMNS = ("scores", "probabilities", "logits")
_NUMBERED = re.compile(r"(?:top|pred|prediction|class)_?(\d+)$")
ID_KEYS = ("ids", "image", "images", "id", "example", "examples", "filenames")
_LABEL_KEYS = ("labels", "label", "targets", "target", "y_true")
_ANSWER_KEYS = ("classes", "topk", "top5", "predictions", "prediction", "pred")
SCORE_KEYS = ("scores", "logits", "probabilities", "probs")
_OPTIONAL_KEYS = ("ids", "labels", "scores")
NO_IDS = "there are no ids: rows are taken in the order of the test set"


@dataclass(frozen=True)
class FilePredictions:
    """One model's answers in file order: best classes (n, k), their scores, and all scores (n, c).

    ``notes`` say what was taken for what.
    """

    classes: IntArray
    scores: FloatArray | None = None
    full_scores: FloatArray | None = None
    score_kind: ScoreKind | None = None
    notes: tuple[str, ...] = ()

    def reordered(self, rows: IntArray) -> FilePredictions:
        """The answers in another order of examples."""
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
    """What a file holds: examples (none if it only follows a test set's order), answers by model, notes for people.

    ``labels`` (n,) are those of a file that has no ids.
    """

    examples: Examples | None
    answers: Mapping[str, FilePredictions]
    notes: tuple[str, ...] = ()
    labels: IntArray | None = None


@dataclass(frozen=True)
class FileClassSpaces:
    """The class spaces of a file: that of the predictions and that of the labels, mostly the same."""

    predictions: ClassSpace
    labels: ClassSpace


def read_prediction_file(path: Path, spaces: FileClassSpaces, *, columns: Columns, model: str | None) -> PredictionFile:
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


def answers_from_scores(
    scores: FloatArray, space: ClassSpace, *, name: str, stated: ScoreKind | None = None
) -> FilePredictions:
    """Answers from all scores (n, c): top k in the scores' own precision, kind found by their sums.

    Scores that are ``stated`` to be probabilities and are none raise.
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


def _read_prediction_table(path: Path, spaces: FileClassSpaces, columns: Columns, model: str | None) -> PredictionFile:
    table = read_table(path)
    try:
        examples = read_examples(table, spaces.labels, columns)
        speaking_of_examples = columns.used_in(table)
        rest = [name for name in table.column_names if name not in speaking_of_examples]
        label_columns = () if columns.label_in(table) else LABEL_COLUMNS
        if model is None:
            _refuse_misspelled(rest, (*ANSWER_COLUMNS, *SCORE_COLUMNS, *label_columns))
            answers = _one_column_a_model(table, rest, spaces.predictions, columns.reading)
            used = set(rest)
        else:
            chosen = _ModelColumns.among(rest, spaces.predictions)
            answers = {model: _one_model(table, chosen, spaces.predictions, columns.reading)}
            used = chosen.used
            _refuse_misspelled(chosen.answers, ANSWER_COLUMNS)
            unused = [name for name in rest if name not in used]
            _refuse_misspelled(unused, label_columns)
            _refuse_more_classes(table, unused, answers[model], spaces.predictions)
        optional = _OPTIONAL_COLUMNS if all(own.scores is None for own in answers.values()) and model else ()
        notes = ignored_columns(table, {*columns.read_from(table), *used}, optional=optional)
    except InputError as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    return PredictionFile(examples, answers, (*notes, *(note for own in answers.values() for note in own.notes)))


_WRAPPABLE = (InputError, FormatError)  # their messages take the file's name in front


def _refuse_misspelled(names: Iterable[str], usual: Sequence[str]) -> None:
    """Raise where a column is called nearly as a usual one is."""
    for name in names:
        is_usual = name.casefold() in usual or _NUMBERED.match(name.casefold())
        if not is_usual and (near := misspelling(name, usual)):
            raise UnknownName("column", name, [near], hint=" (rename it, also if it is something else)")


def _one_column_a_model(
    table: pa.Table, names: list[str], space: ClassSpace, reading: Reading
) -> dict[str, FilePredictions]:
    if not names:
        raise FormatError("there is no column with predictions")
    if all(name.casefold() in (*ANSWER_COLUMNS, *SCORE_COLUMNS) or _NUMBERED.match(name.casefold()) for name in names):
        raise FormatError(f"the columns {', '.join(names)} look like one model's answers: name it with --model")
    answers = {}
    for name in names:
        try:
            answers[name] = FilePredictions(class_indices(table[name], space, name=name, reading=reading))
        except InputError as error:
            raise FormatError(f"{error}; if {name!r} is no model but a group, say --group {name}") from None
    return answers


@dataclass(frozen=True)
class _ModelColumns:
    """The columns of one model: a score for every class, or the best classes and their scores."""

    all_scores: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    scores: str | None = None

    @classmethod
    def among(cls, names: list[str], space: ClassSpace) -> _ModelColumns:
        given = set(names)
        missing = [class_id for class_id in space.ids if class_id not in given]
        if not missing:
            return cls(all_scores=space.ids)
        if len(missing) < len(space) / 2 and not any(name.casefold() in ANSWER_COLUMNS for name in names):
            raise FormatError(
                f"a column of scores is wanted for every class of {space.name}, and {missing[0]!r} has none"
            )
        score_column = next((name for usual in SCORE_COLUMNS for name in names if name.casefold() == usual), None)
        answer_columns = _answer_columns([name for name in names if name != score_column])
        if not answer_columns and score_column is None:
            raise FormatError(f"there is no column with predictions: call it {ANSWER_COLUMNS[0]}")
        return cls(answers=tuple(answer_columns), scores=score_column)

    @property
    def used(self) -> set[str]:
        return {*self.all_scores, *self.answers, *([self.scores] if self.scores else [])}


def _one_model(table: pa.Table, chosen: _ModelColumns, space: ClassSpace, reading: Reading) -> FilePredictions:
    if chosen.all_scores:
        scores = np.column_stack([_numbers(table[name], name) for name in chosen.all_scores])
        return answers_from_scores(scores, space, name="the file")
    given = None if chosen.scores is None else _number_lists(table[chosen.scores], chosen.scores)
    stated = None if chosen.scores is None else stated_kind(chosen.scores)
    if given is not None and not chosen.answers:
        return answers_from_scores(given, space, name=str(chosen.scores), stated=stated)
    classes = np.concatenate(
        [class_indices(table[name], space, name=name, reading=reading) for name in chosen.answers], axis=1
    )
    _refuse_later_rank(classes, chosen.answers)
    return FilePredictions(classes) if given is None else _with_scores(classes, given, str(chosen.scores), stated)


def _refuse_more_classes(table: pa.Table, names: list[str], answers: FilePredictions, space: ClassSpace) -> None:
    """Raise where columns beside those of all classes hold scores too: the file has classes that the space lacks."""
    if answers.full_scores is None or answers.score_kind is ScoreKind.PROBABILITIES:
        return
    more = {name: column for name in names if (column := _scores_or_none(table[name], name)) is not None}
    if more and sum_to_1(np.column_stack([answers.full_scores, *more.values()])):
        raise InputError(
            f"the scores sum to 1 only with the columns {', '.join(more)}, which are no classes of {space.name}: "
            "say --classes with a class space that has them"
        )


def _scores_or_none(column: pa.ChunkedArray, name: str) -> FloatArray | None:
    try:
        return _numbers(column, name)
    except FormatError:
        return None


def _answer_columns(names: list[str]) -> list[str]:
    """The columns of the answers: a usual name, numbered ones in order, or the only one there is."""
    numbered = {int(match[1]): name for name in names if (match := _NUMBERED.match(name.casefold()))}
    in_a_row = len(numbered) > 1 and max(numbered) - min(numbered) == len(numbered) - 1
    ranked = set(numbered.values()) if in_a_row else set()  # top5 holds five answers, or the fifth after top1 to top4
    usual = [name for answer in ANSWER_COLUMNS for name in names if name.casefold() == answer and name not in ranked]
    if usual:
        return usual[:1]
    if numbered:
        _refuse_gaps(numbered)
        return [numbered[rank] for rank in sorted(numbered)]
    if len(names) > 1:
        raise FormatError(f"which of {', '.join(names[:6])} holds the predictions? call it {ANSWER_COLUMNS[0]}")
    return names


def _refuse_gaps(numbered: Mapping[int, str]) -> None:
    """Raise where a rank is missing: they begin with 0 or 1. A single column may hold a list, as top3 does."""
    gap = next((rank for rank in range(min(1, *numbered), max(numbered)) if rank not in numbered), None)
    if len(numbered) > 1 and gap is not None:
        missing = re.sub(r"\d+$", str(gap), numbered[min(numbered)])
        raise FormatError(
            f"the columns {', '.join(numbered.values())} number the best classes, and {missing} is missing"
        )


def _refuse_later_rank(classes: IntArray, columns: Sequence[str]) -> None:
    """Raise where the only column is numbered as the second best class or a later one, and holds one class a row."""
    match = _NUMBERED.match(columns[0].casefold()) if len(columns) == 1 and classes.shape[1] == 1 else None
    if match and int(match[1]) > 1:
        best = re.sub(r"\d+$", "1", columns[0])
        raise FormatError(f"the column {columns[0]} holds one class a row, and {best} with the best class is missing")


def _with_scores(classes: IntArray, scores: FloatArray, name: str, stated: ScoreKind | None) -> FilePredictions:
    if scores.shape != classes.shape:
        raise FormatError(f"{classes.shape[1]} classes but {scores.shape[1]} scores a row")
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
        raise FormatError(f"row {row}: the classes must come best first, but their scores rise")
    kind = kind_of_best(scores, name=name, stated=stated)
    notes = best_kind_note(scores, kind, name=name, stated=stated)
    return FilePredictions(classes, scores.astype(np.float32), None, kind, notes)


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


def _read_arrays(path: Path, spaces: FileClassSpaces, model: str) -> PredictionFile:
    arrays = open_arrays(path)
    name = arrays.first_of(("", *SCORE_KEYS, *_ANSWER_KEYS))
    if name is None:
        raise FormatError(
            f"{path} has the arrays {', '.join(arrays.declared)}; the answers must be called scores or classes"
        )
    try:
        answers = _array_answers(arrays, name, spaces.predictions)
        keys = {keys: arrays.first_of(keys) for keys in (ID_KEYS, _LABEL_KEYS)}
        ids = _array_ids(arrays, keys[ID_KEYS], answers)
        labels = _array_labels(arrays, keys[_LABEL_KEYS], answers, spaces)
        used = {name, *(key for key in keys.values() if key)}
        notes = ignored_names((*arrays.declared, *arrays.not_arrays), used, optional=_OPTIONAL_KEYS, noun="array")
    except (InputError, FormatError) as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    examples = None if ids is None else Examples(ids, labels)
    notes += () if ids else (NO_IDS,)
    return PredictionFile(examples, {model: answers}, (*notes, *answers.notes), labels)


def _array_answers(arrays: ArrayFile, name: str, space: ClassSpace) -> FilePredictions:
    """Answers from scores or class indices; what is declared is held against the class space before it is read."""
    declared = arrays.declared[name]
    shape, dtype = declared.shape, declared.dtype
    if 0 in shape:
        raise FormatError(f"the array has shape {shape}: it holds nothing")
    if len(shape) == 2 and shape[1] == len(space) and np.issubdtype(dtype, np.floating):
        return answers_from_scores(arrays.load(name), space, name=name or "the array", stated=stated_kind(name))
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


def _array_ids(arrays: ArrayFile, name: str | None, answers: FilePredictions) -> tuple[str, ...] | None:
    if name is None:
        return None
    _check_rows(arrays, name, len(answers.classes))
    ids = array_texts(arrays, name)
    check_unique(ids)
    check_ids(ids)
    return ids


def _array_labels(
    arrays: ArrayFile, name: str | None, answers: FilePredictions, spaces: FileClassSpaces
) -> IntArray | None:
    if name is None:
        return None
    _check_rows(arrays, name, len(answers.classes))
    texts = arrays.declared[name].dtype.kind in "SU"
    column = pa.chunked_array([pa.array(array_texts(arrays, name) if texts else arrays.load(name))])
    return one_class_each(column, spaces.labels, name="labels", reading=Reading.AUTO)


def _check_rows(arrays: ArrayFile, name: str, rows: int) -> None:
    if (shape := arrays.declared[name].shape) != (rows,):
        raise FormatError(f"{rows:,} rows of answers, so shape ({rows},) is wanted for {name}, not {shape}")


def array_texts(arrays: ArrayFile, name: str) -> tuple[str, ...]:
    """The texts or whole numbers of an array as texts; other numbers raise, and so does what is not UTF-8."""
    if arrays.declared[name].dtype.kind not in "SUiu":
        raise FormatError(f"{name} holds {arrays.declared[name].dtype}, not texts or whole numbers")
    try:
        values = arrays.load(name).ravel().tolist()
        texts = tuple(each.decode() if isinstance(each, bytes) else str(each) for each in values)
        "".join(texts).encode()
    except UnicodeError:
        raise FormatError(f"{name} holds text that is not valid UTF-8") from None
    return texts


def _refuse_repeated(classes: IntArray, model: str, space: ClassSpace) -> None:
    """A class that a row lists twice is a mistake of whoever wrote the file."""
    ordered = np.sort(classes, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        name = space.ids[ordered[row, 1:][twice[row]][0]]
        raise InputError(f"model {model!r}, row {row}: class {name} is listed twice")
