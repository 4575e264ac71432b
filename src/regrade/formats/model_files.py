"""Reading what users state about models: a table of attributes, or the results that timm publishes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

import pyarrow as pa

from regrade.core import (
    ATTRIBUTES,
    PERSON_PREFIX,
    DescribedModels,
    FormatError,
    InputError,
    ModelAttributes,
    UnknownName,
    described_models,
)
from regrade.formats.zoo_names import Zoo, attributes_of_name, source_of_name
from regrade.tables import errors_with_path, optional_texts, read_table

MODEL_COLUMNS = ("model", *ATTRIBUTES)
"""The columns of a table of models; all but the first are optional."""

_NUMBERS = ("parameters", "training_images", "year")
_TIMM_COLUMNS = ("model", "param_count")
_MILLION = 1_000_000


class ModelFormat(Enum):
    """The formats of files that describe models."""

    TABLE = "table"
    """A table with the column model and any of the attributes as columns; an empty cell states nothing."""

    TIMM = "timm"
    """timm's results: model and param_count, in millions; further attributes are derived from the names."""


def read_model_file(path: Path, form: ModelFormat, *, prefix: str = "") -> DescribedModels:
    """Read the attributes of models, whose names get ``prefix:`` in front if a prefix is given.

    From the names in timm's results further attributes are derived, except for the base model.
    """
    table = read_table(path)
    front = f"{prefix}:" if prefix else ""
    with errors_with_path(path):
        read = _table_rows if form is ModelFormat.TABLE else _timm_rows
        stated = described_models((front + _checked_name(name), attributes) for name, attributes in read(table))
    if form is ModelFormat.TABLE:
        return stated
    source = source_of_name(Zoo.TIMM)
    derived = {name: attributes_of_name(Zoo.TIMM, name.removeprefix(front)) for name in stated.by_name}
    rows = {name: {source: replace(row, base_model="")} for name, row in derived.items() if row.stated}
    return replace(stated, derived=rows)


def _table_rows(table: pa.Table) -> Iterator[tuple[str, ModelAttributes]]:
    for column in table.column_names:
        if column not in MODEL_COLUMNS:
            is_timm = set(_TIMM_COLUMNS) <= set(table.column_names)
            hint = " (for timm's results, add --format timm)" if is_timm else ""
            raise UnknownName("column", column, MODEL_COLUMNS, hint=hint)
    _check_columns(table, MODEL_COLUMNS[:1])
    stated = [column for column in table.column_names if column != "model"]
    if not stated:
        raise FormatError(f"there is only the column model: add any of {', '.join(ATTRIBUTES)}")
    names, columns = optional_texts(table, "model"), [optional_texts(table, column) for column in stated]
    for name, *cells in zip(names, *columns, strict=True):
        yield name, _attributes(name, stated, cells)


def _attributes(name: str, columns: Sequence[str], cells: Sequence[str]) -> ModelAttributes:
    texts = {column: cell.strip() for column, cell in zip(columns, cells, strict=True) if cell.strip()}
    try:
        values = {key: _whole(key, text) if key in _NUMBERS else text for key, text in texts.items()}
        return ModelAttributes(**values)  # type: ignore[arg-type]
    except InputError as error:
        raise FormatError(f"{name}: {error}") from None


def _whole(column: str, text: str) -> int:
    """A count: digits, with or without thousands separators."""
    number = _number(text)
    if number is None or number != round(number):
        raise FormatError(f"{column} is {text!r}, expected a whole number")
    return round(number)


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 2**53 else None


def _timm_rows(table: pa.Table) -> Iterator[tuple[str, ModelAttributes]]:
    """Timm lists a model once per input size."""
    _check_columns(table, _TIMM_COLUMNS)
    for name, text in zip(*(optional_texts(table, column) for column in _TIMM_COLUMNS), strict=True):
        millions = _number(text)
        if millions is None or millions <= 0:
            raise FormatError(f"{name}: param_count is {text!r}, expected millions of parameters such as 25.56")
        yield name, ModelAttributes(parameters=max(1, round(millions * _MILLION)))


def _check_columns(table: pa.Table, required: Sequence[str]) -> None:
    for column in required:
        if column not in table.column_names:
            raise FormatError(f"there is no column {column}; it has {', '.join(table.column_names[:8])}")


def _checked_name(name: str) -> str:
    if not name.strip():
        raise FormatError("a row has no model")
    if name.startswith(PERSON_PREFIX):
        raise FormatError(f"{name} is a person: only models are described")
    return name.strip()
