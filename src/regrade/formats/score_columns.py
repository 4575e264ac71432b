"""Scores in the columns of a table: one number per row, or a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import ClassSpace, FormatError, InputError, ScoreKind
from regrade.core.arrays import FloatArray, IntArray
from regrade.formats.file_predictions import FilePredictions
from regrade.formats.score_kinds import best_kind_note, kind_of_best
from regrade.tables import is_list, is_text


def scores_by_rank(table: pa.Table, names: Sequence[str]) -> FloatArray | None:
    """Shape (n, k): the scores of one column of lists, or of one column per rank; None without a column."""
    return np.concatenate([_number_lists(table[name], name) for name in names], axis=1) if names else None


def is_scores(column: pa.ChunkedArray, space: ClassSpace) -> bool:
    """Whether a column contains a list with one score per class, and not classes."""
    values = column.combine_chunks()
    if not is_list(values.type) or not pa.types.is_floating(values.type.value_type):
        return False
    numbers = pc.list_flatten(values)
    whole = pc.all(pc.equal(numbers, pc.floor(numbers))).as_py()
    return len(numbers) == len(values) * len(space) and not whole


def with_scores(classes: IntArray, scores: FloatArray, name: str, stated: ScoreKind | None) -> FilePredictions:
    """Predictions from the best classes (n, k) and their scores, which must not increase; raise if they do not fit."""
    if scores.shape != classes.shape:
        raise FormatError(f"{classes.shape[1]} classes but {scores.shape[1]} scores per row")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"row {row + 1}: a score is not a finite number")
    if np.abs(scores).max() > np.finfo(np.float32).max:
        row = int(np.abs(scores).max(axis=1).argmax())
        raise InputError(
            f"row {row + 1}: a score of {name!r} is larger than single precision can hold: scale the scores down"
        )
    if (np.diff(scores, axis=1) > 0).any():
        row = int(np.flatnonzero((np.diff(scores, axis=1) > 0).any(axis=1))[0])
        raise FormatError(f"row {row + 1}: the best class must come first, but the scores increase")
    kind = kind_of_best(scores, name=name, stated=stated)
    notes = best_kind_note(scores, kind, name=name, stated=stated)
    return FilePredictions(classes, scores.astype(np.float32), None, kind, notes)


def scores_or_none(column: pa.ChunkedArray, name: str) -> FloatArray | None:
    """Shape (n,): the numbers of a column; None if it contains anything else."""
    try:
        return score_column(column, name)
    except FormatError:
        return None


def score_column(column: pa.ChunkedArray, name: str) -> FloatArray:
    """Shape (n,): the numbers of a column; text that is not a number and empty cells raise."""
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
        return score_column(column, name)[:, None]
    lengths = pc.list_value_length(values)
    if lengths.null_count or pc.min(lengths).as_py() != pc.max(lengths).as_py():
        raise FormatError(f"column {name!r}: every row must list the same number of scores")
    return score_column(pa.chunked_array([pc.list_flatten(values)]), name).reshape(len(values), -1)
