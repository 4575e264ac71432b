"""Recognizing the columns of predictions in a table by their names and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from regrade.core import ClassSpace, FormatError, UnknownName
from regrade.formats.score_columns import scores_or_none
from regrade.tables import Columns, column_named, is_list

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
SCORE_COLUMNS = (
    "scores",
    "score",
    "confidence",
    "probability",
    "probabilities",
    "probs",
    "prob",
    "logits",
    "logit",
)
OPTIONAL_COLUMNS = ("scores", "probabilities", "logits")
NUMBERED = re.compile(r"(top|pred|prediction|class|index|label)_?(\d+)$")
NUMBERED_SCORES = re.compile(r"(score|prob|probability|confidence|logit)_?(\d+)$")
_RANKED = ("top", "pred", "prediction", "class", "index", "label")
_SHOWN = 6


def is_prediction_name(name: str) -> bool:
    """Whether a column has a usual name of predicted classes or scores."""
    plain = name.casefold()
    usual = plain in (*PREDICTION_COLUMNS, *SCORE_COLUMNS)
    return usual or any(pattern.match(plain) for pattern in (NUMBERED, NUMBERED_SCORES))


@dataclass(frozen=True)
class ModelColumns:
    """The columns of one model: a score for every class, or the best classes and their scores.

    ``scores`` is one column, or one per rank; ``repeated`` are columns with the same classes as ``classes``.
    """

    all_scores: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def used(self) -> set[str]:
        """The names of all columns of the model."""
        return {*self.all_scores, *self.classes, *self.scores, *self.repeated}


def stated_predictions(table: pa.Table, columns: Columns) -> tuple[str, ...]:
    """The columns of predictions that an option names; raise if the table lacks one."""
    for name in columns.predictions:
        if name not in table.column_names:
            raise UnknownName("prediction column", name, table.column_names)
    return columns.predictions


def model_columns(table: pa.Table, columns: Columns, space: ClassSpace) -> ModelColumns:
    """The columns of the only model of a table; raise if they cannot be recognized."""
    stated = stated_predictions(table, columns)
    usual_columns = columns.used_in(table)
    rest = [name for name in table.column_names if name not in usual_columns and name not in stated]
    scores = _score_columns(rest)
    if stated:
        return ModelColumns(classes=stated, scores=scores)
    if (all_scores := _scores_of_classes(rest, space)) or len(scores) == len(space) > 1:
        return ModelColumns(all_scores=all_scores or scores)
    ranked = _ranked([name for name in rest if name not in scores])
    if not ranked and (predicted := _predicted_label(table, columns, rest, scores)):
        return ModelColumns(classes=predicted[:1], scores=scores, repeated=predicted[1:])
    classes = _class_columns([name for name in rest if name not in scores and not _has_fractions(table[name])])
    if not classes and (not scores or _is_one_score(table, scores)):
        raise FormatError(_no_predictions(table, columns))
    repeated = [name for own in ranked.values() for name in own.values() if _repeats(name, classes)]
    return ModelColumns(classes=tuple(classes), scores=scores, repeated=tuple(repeated))


def _scores_of_classes(names: list[str], space: ClassSpace) -> tuple[str, ...]:
    """One column per class, named by its id or its name, in the order of the class space; empty if there are none."""
    distinct_names = set(names)
    for classes in (space.ids, space.names):
        missing = [name for name in classes if name not in distinct_names]
        if not missing:
            return classes
        if len(missing) < len(space) / 2 and not any(name.casefold() in PREDICTION_COLUMNS for name in names):
            raise FormatError(
                f"expected a column of scores for every class of {space.name}, but {missing[0]!r} has none"
            )
    return ()


def _score_columns(names: list[str]) -> tuple[str, ...]:
    """The column of scores, or one per rank in order."""
    usual = next((name for usual in SCORE_COLUMNS for name in names if name.casefold() == usual), None)
    if usual:
        return (usual,)
    numbered = {int(match[2]): name for name in names if (match := NUMBERED_SCORES.match(name.casefold()))}
    return tuple(numbered[rank] for rank in sorted(numbered))


def _ranked(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Numbered columns of classes by the word before the number, and by number."""
    ranked: dict[str, dict[int, str]] = {}
    for name in names:
        if match := NUMBERED.match(name.casefold()):
            ranked.setdefault(match[1], {})[int(match[2])] = name
    return {word: ranked[word] for word in _RANKED if word in ranked}


def _repeats(name: str, classes: Sequence[str]) -> bool:
    """Whether a column is label_0, label_1, ..., and the classes are in index_0, index_1, ..., as timm writes them."""
    return name.casefold().startswith("label") and classes[0].casefold().startswith("index")


def _predicted_label(
    table: pa.Table, columns: Columns, rest: Sequence[str], scores: tuple[str, ...]
) -> tuple[str, ...]:
    """The columns index and label if they contain predictions, as in files of timm's inference.py.

    They do if they contain lists, or if the only other column of the model has one score per row: that of the
    predicted class.
    """
    if any(name.casefold() in PREDICTION_COLUMNS for name in rest):
        return ()
    names = [name for usual in ("index", "label") if (name := column_named(table, usual))]
    names = [name for name in names if name not in (columns.id_in_or_none(table), columns.label, *columns.groups)]
    if lists := tuple(name for name in names if is_list(table[name].type)):
        return lists
    if not _is_one_score(table, scores):
        return ()
    return tuple(name for name in names if not _has_row_numbers(table[name]))


def _is_one_score(table: pa.Table, scores: tuple[str, ...]) -> bool:
    """Whether there is one column of scores, with one number per row."""
    return len(scores) == 1 and scores_or_none(table[scores[0]], scores[0]) is not None


def _has_fractions(column: pa.ChunkedArray) -> bool:
    """Whether a column contains numbers that are not class indices."""
    numbers = scores_or_none(column, "")
    return numbers is not None and bool((numbers != np.floor(numbers)).any())


def _has_row_numbers(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    numbers = np.asarray(column.to_pylist())
    return any(np.array_equal(numbers, np.arange(first, first + len(numbers))) for first in (0, 1))


def _no_predictions(table: pa.Table, columns: Columns) -> str:
    label = columns.label_in(table)
    hint = f"; if {label} contains them, give --prediction-column {label}" if label and not columns.label else ""
    return f"there is no column with predictions: name it {PREDICTION_COLUMNS[0]}, or give --prediction-column{hint}"


def _class_columns(names: list[str]) -> list[str]:
    """The columns of the predicted classes: one with a usual name, numbered ones in order, or the only column."""
    numbered = next(iter(_ranked(names).values()), {})
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
            f"the predictions could be in {', '.join(names[:_SHOWN])}: choose one with --prediction-column"
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
