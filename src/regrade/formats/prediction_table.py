"""Reading predictions from a table: one model, or one model per column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import ClassSpace, FormatError, InputError, ScoreKind, UnknownName
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.names import misspelling
from regrade.formats.file_predictions import FileClassSpaces, FilePredictions, PredictionFile, predictions_from_scores
from regrade.formats.prediction_columns import (
    NUMBERED,
    OPTIONAL_COLUMNS,
    PREDICTION_COLUMNS,
    SCORE_COLUMNS,
    ModelColumns,
)
from regrade.formats.score_kinds import best_kind_note, kind_of_best, stated_kind, sum_to_1
from regrade.tables import (
    LABEL_COLUMNS,
    Columns,
    Reading,
    class_indices,
    ignored_columns,
    is_list,
    is_text,
    read_examples,
    read_table,
)

_WRAPPABLE = (InputError, FormatError)  # their messages are prefixed with the path of the file


def read_prediction_table(path: Path, spaces: FileClassSpaces, columns: Columns, model: str | None) -> PredictionFile:
    table = read_table(path)
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
            chosen = ModelColumns.among(rest, spaces.predictions)
            predictions = {model: _one_model(table, chosen, spaces.predictions, columns.reading)}
            used = chosen.used
            _refuse_misspelled(chosen.classes, PREDICTION_COLUMNS)
            unused = [name for name in rest if name not in used]
            _refuse_misspelled(unused, label_columns)
            _refuse_more_classes(table, unused, predictions[model], spaces.predictions)
        optional = OPTIONAL_COLUMNS if all(own.scores is None for own in predictions.values()) and model else ()
        notes = ignored_columns(table, {*columns.read_from(table), *used}, optional=optional)
    except InputError as error:
        raise type(error)(f"{path}: {error}") if type(error) in _WRAPPABLE else error from None
    model_notes = [note for own in predictions.values() for note in own.notes]
    return PredictionFile(examples, predictions, (*notes, *model_notes))


def _refuse_misspelled(names: Iterable[str], usual: Sequence[str]) -> None:
    """Raise if the name of a column is nearly one of the usual names."""
    for name in names:
        is_usual = name.casefold() in usual or NUMBERED.match(name.casefold())
        if not is_usual and (near := misspelling(name, usual)):
            raise UnknownName("column", name, [near], hint=" (rename it, also if it is something else)")


def _one_model_per_column(
    table: pa.Table, names: list[str], space: ClassSpace, reading: Reading
) -> dict[str, FilePredictions]:
    if not names:
        raise FormatError("there is no column with predictions")
    if all(
        name.casefold() in (*PREDICTION_COLUMNS, *SCORE_COLUMNS) or NUMBERED.match(name.casefold()) for name in names
    ):
        raise FormatError(f"the columns {', '.join(names)} look like one model's predictions: name it with --model")
    predictions = {}
    for name in names:
        try:
            predictions[name] = FilePredictions(class_indices(table[name], space, name=name, reading=reading))
        except InputError as error:
            raise FormatError(f"{error}; if {name!r} is a group and not a model, give --group {name}") from None
    return predictions


def _one_model(table: pa.Table, chosen: ModelColumns, space: ClassSpace, reading: Reading) -> FilePredictions:
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


def _refuse_later_rank(classes: IntArray, columns: Sequence[str]) -> None:
    """Raise if the only column is numbered as the second best class or a later one, and has one class per row."""
    match = NUMBERED.match(columns[0].casefold()) if len(columns) == 1 and classes.shape[1] == 1 else None
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
