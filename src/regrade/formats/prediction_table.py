"""Reading predictions from a table: one model, or one model per column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from regrade.core import ClassSpace, FormatError, InputError, MismatchError, ScoreKind, UnknownName
from regrade.core.arrays import IntArray
from regrade.core.names import misspelling
from regrade.formats.figure_files import refuse_figures
from regrade.formats.file_predictions import (
    NO_IDS,
    FileClassSpaces,
    FilePredictions,
    PredictionFile,
    predictions_from_scores,
)
from regrade.formats.prediction_columns import (
    NUMBERED,
    OPTIONAL_COLUMNS,
    PREDICTION_COLUMNS,
    SCORE_COLUMNS,
    ModelColumns,
    is_prediction_name,
    model_columns,
    stated_predictions,
)
from regrade.formats.score_columns import is_scores, score_column, scores_by_rank, scores_or_none, with_scores
from regrade.formats.score_kinds import stated_kind, sum_to_1
from regrade.tables import (
    LABEL_COLUMNS,
    Columns,
    Reading,
    class_encoding,
    class_indices,
    ignored_columns,
    one_class_per_row,
    read_examples,
)

_WRAPPABLE = (InputError, FormatError)  # their messages are prefixed with the path of the file


def read_prediction_table(
    table: pa.Table, spaces: FileClassSpaces, *, columns: Columns, model: str | None, origin: str
) -> PredictionFile:
    """Read a table with one model, named ``model``, or one model per column; ``origin`` is named in messages."""
    try:
        refuse_figures(table)
        if model is None:
            return _several_models(table, spaces, columns)
        return _single_model(table, spaces, columns, model)
    except InputError as error:
        raise type(error)(f"{origin}: {error}") if type(error) in _WRAPPABLE else error from None


def _single_model(table: pa.Table, spaces: FileClassSpaces, columns: Columns, model: str) -> PredictionFile:
    space = spaces.predictions
    chosen = model_columns(table, columns, space)
    own_examples = _ExampleColumns(table.drop_columns(sorted(chosen.used)), columns, spaces.labels)
    if not columns.predictions:
        _refuse_misspelled(chosen.classes, PREDICTION_COLUMNS)
    used = chosen.used
    unused = [name for name in own_examples.rest if name not in used]
    _refuse_misspelled(unused, own_examples.missing_labels)
    predictions = _one_model(table, chosen, space, columns.reading)
    _refuse_more_classes(table, unused, predictions, space)
    optional = OPTIONAL_COLUMNS if predictions.scores is None else ()
    notes = ignored_columns(table, {*own_examples.read, *chosen.used}, optional=optional)
    roles = {**own_examples.roles, **_roles(table, chosen, predictions, space, columns.reading)}
    in_order = {name: roles[name] for name in table.column_names if name in roles}
    return own_examples.file({model: predictions}, (*notes, *predictions.notes), in_order)


def _several_models(table: pa.Table, spaces: FileClassSpaces, columns: Columns) -> PredictionFile:
    stated = stated_predictions(table, columns)
    own_examples = _ExampleColumns(table.drop_columns(list(stated)), columns, spaces.labels)
    names = list(stated) if stated else own_examples.rest
    if not columns.predictions:
        _refuse_misspelled(names, (*PREDICTION_COLUMNS, *SCORE_COLUMNS, *own_examples.missing_labels))
    predictions = _one_model_per_column(table, names, spaces.predictions, columns.reading)
    notes = ignored_columns(table, {*own_examples.read, *names})
    encodings = {name: class_encoding(table[name], spaces.predictions, reading=columns.reading) for name in names}
    roles = {**own_examples.roles, **{name: f"model, classes by {own.value}" for name, own in encodings.items()}}
    doubtful = () if columns.predictions or len(names) == 1 else names
    integers = tuple(name for name in doubtful if pa.types.is_integer(table[name].type))
    return replace(own_examples.file(predictions, notes, roles), integer_columns=integers)


@dataclass(frozen=True)
class _ExampleColumns:
    """The columns of ids, labels and groups of a table from which the columns of predictions were removed."""

    table: pa.Table
    columns: Columns
    space: ClassSpace

    @cached_property
    def label(self) -> str | None:
        return self.columns.label_in(self.table)

    @cached_property
    def id(self) -> str | None:
        """The column of ids; None if there is none, and the order of the rows can be checked by their labels."""
        return self.columns.usual_id_in(self.table) if self.label else self.columns.id_in(self.table)

    @cached_property
    def rest(self) -> list[str]:
        """The columns that are neither ids, labels nor groups."""
        used = {self.id, *self.columns.used_in(self.table)}
        return [name for name in self.table.column_names if name not in used]

    @property
    def read(self) -> set[str]:
        return {name for name in (self.id, self.label, *self.columns.groups) if name}

    @property
    def missing_labels(self) -> tuple[str, ...]:
        return () if self.label else LABEL_COLUMNS

    @property
    def roles(self) -> dict[str, str]:
        roles = dict.fromkeys(self.columns.groups, "group")
        if self.id:
            roles = {self.id: "ids", **roles}
        if self.label:
            encoding = class_encoding(self.table[self.label], self.space, reading=self.columns.reading)
            roles[self.label] = f"labels, classes by {encoding.value}"
        return roles

    def file(
        self, predictions: Mapping[str, FilePredictions], notes: Sequence[str], roles: Mapping[str, str]
    ) -> PredictionFile:
        """The content of the file; without ids, rows are in the order of the test set."""
        if self.id:
            examples = read_examples(self.table, self.space, self.columns)
            return PredictionFile(examples, predictions, tuple(notes), roles=roles)
        labels = one_class_per_row(
            self.table[self.label], self.space, name=str(self.label), reading=self.columns.reading
        )
        return PredictionFile(None, predictions, (NO_IDS, *notes), labels, roles=roles)


def _roles(
    table: pa.Table, chosen: ModelColumns, predictions: FilePredictions, space: ClassSpace, reading: Reading
) -> dict[str, str]:
    """The role of each column of a model."""
    kind = f" ({predictions.score_kind.value})" if predictions.score_kind else ""
    roles = dict.fromkeys(chosen.all_scores, f"score of a class{kind}")
    roles |= dict.fromkeys(chosen.scores, f"scores{kind}")
    roles |= dict.fromkeys(chosen.repeated, "prediction again, compared")
    if len(chosen.classes) == 1 and is_scores(table[chosen.classes[0]], space):
        return {**roles, chosen.classes[0]: f"scores{kind}"}
    ranked = "predictions by rank" if len(chosen.classes) > 1 else "prediction"
    encodings = {name: class_encoding(table[name], space, reading=reading) for name in chosen.classes}
    return roles | {name: f"{ranked}, classes by {encoding.value}" for name, encoding in encodings.items()}


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
    if all(map(is_prediction_name, names)):
        raise FormatError(f"the columns {', '.join(names)} look like one model's predictions: name it with --model")
    predictions = {}
    for name in names:
        try:
            predictions[name] = FilePredictions(class_indices(table[name], space, name=name, reading=reading))
        except InputError as error:
            hint = f"if {name!r} is a group and not a model, give --group {name}"
            raise FormatError(f"{error}; {hint}, or name the models with --prediction-column") from None
    return predictions


def _one_model(table: pa.Table, chosen: ModelColumns, space: ClassSpace, reading: Reading) -> FilePredictions:
    if chosen.all_scores:
        scores = np.column_stack([score_column(table[name], name) for name in chosen.all_scores])
        return predictions_from_scores(scores, space, name="the file")
    if len(chosen.classes) == 1 and is_scores(table[chosen.classes[0]], space):
        chosen = ModelColumns(scores=chosen.classes)
    name = chosen.scores[0] if chosen.scores else ""
    by_rank = scores_by_rank(table, chosen.scores)
    stated = stated_kind(name.rstrip("0123456789").rstrip("_"))
    if by_rank is not None and not chosen.classes:
        return predictions_from_scores(by_rank, space, name=name, stated=stated)
    classes = _classes_of(table, chosen.classes, space, reading)
    _refuse_later_rank(classes, chosen.classes)
    _refuse_disagreement(table, classes, chosen, space, reading)
    if by_rank is None:
        return FilePredictions(classes)
    if by_rank.shape[1] == len(space) > classes.shape[1]:
        predictions = predictions_from_scores(by_rank, space, name=name, stated=stated)
        _refuse_other_best(predictions, classes, chosen, space)
        return predictions
    return with_scores(classes, by_rank, name, stated)


def _classes_of(table: pa.Table, names: Sequence[str], space: ClassSpace, reading: Reading) -> IntArray:
    return np.concatenate([class_indices(table[name], space, name=name, reading=reading) for name in names], axis=1)


def _refuse_disagreement(
    table: pa.Table, classes: IntArray, chosen: ModelColumns, space: ClassSpace, reading: Reading
) -> None:
    """Raise if columns that repeat the predictions, as names next to indices, contain other classes.

    Names that several classes share are not compared.
    """
    if not chosen.repeated:
        return
    try:
        again = _classes_of(table, chosen.repeated, space, reading)
    except InputError as error:
        if "could be" in str(error):
            return
        raise
    differs = (classes != again).any(axis=1)
    if differs.any():
        raise MismatchError(
            f"the columns {chosen.classes[0]} and {chosen.repeated[0]} contain different classes in row "
            f"{int(differs.argmax()) + 1}: are the classes those of {space.name}? Choose one with --prediction-column, "
            "and the labels with --label-column"
        )


def _refuse_other_best(
    predictions: FilePredictions, classes: IntArray, chosen: ModelColumns, space: ClassSpace
) -> None:
    """Raise if the best class by the scores is not the predicted one."""
    best = np.take_along_axis(np.asarray(predictions.full_scores), classes[:, :1], axis=1)[:, 0]
    differs = best < np.asarray(predictions.full_scores).max(axis=1)
    if differs.any():
        row = int(differs.argmax())
        raise MismatchError(
            f"row {row + 1}: {chosen.classes[0]} is {space.ids[classes[row, 0]]}, but the best of {chosen.scores[0]} "
            f"is {space.ids[predictions.classes[row, 0]]}: are the scores in the order of {space.name}?"
        )


def _refuse_more_classes(table: pa.Table, names: list[str], predictions: FilePredictions, space: ClassSpace) -> None:
    """Raise if further columns contain scores too: the file has classes that the class space lacks."""
    if predictions.full_scores is None or predictions.score_kind is ScoreKind.PROBABILITIES:
        return
    more = {name: column for name in names if (column := scores_or_none(table[name], name)) is not None}
    if more and sum_to_1(np.column_stack([predictions.full_scores, *more.values()])):
        raise InputError(
            f"the scores sum to 1 only with the columns {', '.join(more)}, which are not classes of {space.name}: "
            "give a class space that has them with --classes"
        )


def _refuse_later_rank(classes: IntArray, columns: Sequence[str]) -> None:
    """Raise if the only column is numbered as the second best class or a later one, and has one class per row."""
    match = NUMBERED.match(columns[0].casefold()) if len(columns) == 1 and classes.shape[1] == 1 else None
    if match and int(match[2]) > 1:
        best = re.sub(r"\d+$", "1", columns[0])
        raise FormatError(
            f"the column {columns[0]} has one class per row, and the column {best} with the best class is missing"
        )
