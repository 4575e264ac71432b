"""Reading decisions on the drawn predictions of a review: a table of image, class, verdict and reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from regrade.core import FormatError, LabelState, MismatchError, TestSet
from regrade.core.amounts import amount
from regrade.core.novel_sample import ReviewDecisions
from regrade.formats.label_files import state_named
from regrade.tables import (
    Columns,
    column_named,
    errors_with_path,
    ignored_columns,
    one_class_per_row,
    read_table,
    texts,
)

_CLASS_COLUMNS = ("class", "class_id", "prediction")
_SAMPLE_NAMES = "name"  # the column of class names in files of `regrade labels sample`
_PROBLEMATIC = LabelState.PROBLEMATIC.name.lower()


def read_decision_file(path: Path, test_set: TestSet, columns: Columns) -> ReviewDecisions:
    """Read decisions, and reasons if there is a column; rows without a decision are skipped."""
    table = read_table(path)
    with errors_with_path(path):
        return _decisions(table, path, test_set, columns)


def _decisions(table: pa.Table, path: Path, test_set: TestSet, columns: Columns) -> ReviewDecisions:
    class_column = columns.label or column_named(table, *_CLASS_COLUMNS)
    decision_column, reason_column = column_named(table, "verdict"), column_named(table, "reason")
    if decision_column is None or class_column is None or class_column not in table.column_names:
        raise FormatError(f"{path}: expected the columns image, class and verdict")
    id_column = columns.id_in(table)
    used = {id_column, class_column, decision_column, *([reason_column] if reason_column else [])}
    notes = ignored_columns(table, {*used, _SAMPLE_NAMES}, optional=("reason",))
    judged = table.filter(_is_filled(table, decision_column, path))
    if judged.num_rows == 0:
        raise FormatError(f"{path}: no row has a decision yet")
    if judged.num_rows < table.num_rows:
        notes += (f"passed over {amount(table.num_rows - judged.num_rows, 'row')} without a decision",)
    images = texts(judged, id_column)
    unknown = [image for image in images if image not in test_set.position_of]
    if unknown:
        raise MismatchError(f"{path} contains {unknown[0]!r}, which is not in test set {test_set.name}")
    classes = one_class_per_row(judged[class_column], test_set.class_space, name=class_column, reading=columns.reading)
    states = [_state(word) for word in texts(judged, decision_column)]
    cells = _text_cells(judged, reason_column, path) if reason_column else []
    reasons = {row: reason.strip() for row, reason in enumerate(cells) if reason and reason.strip()}
    bare = sum(state is LabelState.PROBLEMATIC and row not in reasons for row, state in enumerate(states))
    if bare:
        notes += (f"{amount(bare, 'problematic decision')} without a reason",)
    notes += _mixed_notes(images, states)
    examples = np.array([test_set.position_of[image] for image in images])
    return ReviewDecisions(examples, classes, np.array(states, dtype=np.int8), reasons, notes)


def _mixed_notes(images: Sequence[str], states: Sequence[LabelState]) -> tuple[str, ...]:
    """A note on images that are problematic in one row and have another decision in another."""
    by_kind: dict[bool, set[str]] = {True: set(), False: set()}
    for image, state in zip(images, states, strict=True):
        by_kind[state is LabelState.PROBLEMATIC].add(image)
    mixed = sorted(by_kind[True] & by_kind[False])
    if not mixed:
        return ()
    count = amount(len(mixed), "image")
    return (f"{count} problematic in one row and with another decision in another, such as {mixed[0]!r}",)


def _is_filled(table: pa.Table, column: str, path: Path) -> pa.Array:
    """Which rows are not empty in a column."""
    return pa.array([bool(cell and cell.strip()) for cell in _text_cells(table, column, path)])


def _text_cells(table: pa.Table, column: str, path: Path) -> list[str | None]:
    """The cells of a column as text, None for empty cells."""
    try:
        cells: list[str | None] = table[column].cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise FormatError(f"{path}: column {column!r} contains {table[column].type}, not text") from None
    return cells


def _state(word: str) -> LabelState:
    """The state that a decision names: correct, unclear, wrong or problematic."""
    if word.strip().lower() == _PROBLEMATIC:
        return LabelState.PROBLEMATIC
    try:
        return state_named(word)
    except FormatError as error:
        raise FormatError(f"{error}, or {_PROBLEMATIC}") from None
