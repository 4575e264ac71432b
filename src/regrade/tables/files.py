"""Reading the tables that people bring: CSV, TSV, Parquet, JSON lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from regrade.core import FormatError
from regrade.core.strict_json import parse_json
from regrade.tables.csv_text import read_csv
from regrade.tables.json_text import read_json
from regrade.tables.text_files import check_file, damage, read_text

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""The endings of files that are tables."""

_FORMS = {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_LARGEST = 2**63 - 1
_KINDS = {bool: "true or false", int: "numbers", float: "numbers", str: "text", list: "lists", dict: "objects"}


def read_table(path: Path) -> pa.Table:
    """Read a table by its file ending; an empty, damaged or unknown file raises in one line."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise FormatError(f"{path}: tables end in {', '.join(TABLE_SUFFIXES)}, not {suffix or 'nothing'}")
    try:
        table = _read(path, suffix)
        names = table.column_names
        _refuse_repeated(names)
        table = pa.table([_plain(name, column) for name, column in zip(names, table.columns, strict=True)], names=names)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, RecursionError, csv.Error) as error:
        raise FormatError(f"{path} cannot be read as {suffix[1:]}: {damage(error, _FORMS[suffix])}") from None
    if table.num_rows == 0:
        raise FormatError(f"{path} holds no rows")
    return table


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds lists."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _refuse_repeated(names: list[str]) -> None:
    if len(set(names)) < len(names):
        name, _ = Counter(names).most_common(1)[0]
        raise FormatError(f"it has the column {name!r} twice")


def _read(path: Path, suffix: str) -> pa.Table:
    if suffix == ".parquet":
        _refuse_repeated(pyarrow.parquet.read_schema(path).names)  # such a table cannot be read at all
        return pyarrow.parquet.read_table(path)
    if suffix in (".csv", ".tsv"):
        return read_csv(path, "," if suffix == ".csv" else "\t")
    return _read_json_lines(path)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without encodings; one whose text is not UTF-8, or that is damaged, raises and is named."""
    kind = _plain_type(column.type)
    try:
        column.validate(full=True)
        return column if kind == column.type else column.cast(kind)
    except pa.ArrowException:
        raise FormatError(f"column {name!r} holds {column.type} that is damaged, or is not UTF-8 text") from None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without encodings that say nothing about the content."""
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or str(kind).endswith("_view"):
        return pa.string()
    if is_list(kind):
        return pa.list_(_plain_type(kind.value_type), getattr(kind, "list_size", -1))
    return kind


def read_json_rows(path: Path) -> pa.Table:
    """Read a JSON file that is a list of objects, one a row."""
    rows = read_json(path)
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise FormatError(f'{path}: a JSON list of objects such as {{"image": ..., "class": ...}} is wanted')
    try:
        return _table_of(rows)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _read_json_lines(path: Path) -> pa.Table:
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except FormatError as error:
            raise FormatError(f"line {number} {error}") from None
        if not isinstance(row, dict):
            raise FormatError(f'line {number}: an object is wanted, such as {{"image": ...}}')
        rows.append(row)
    return _table_of(rows)


def _table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Objects as a table; a key that a row does not have is an empty cell."""
    kept = list(rows)
    names = dict.fromkeys(name for row in kept for name in row)
    return pa.table({name: _column_of([row.get(name) for row in kept], name) for name in names})


def _column_of(values: list[Any], name: str) -> pa.Array:
    """The values of one key as a column; where they do not fit together, the first one that does not is named."""
    try:
        return pa.array(values)
    except (pa.ArrowException, UnicodeError, OverflowError, RecursionError):
        raise FormatError(f"{name!r}: {_misfit(values)}") from None


def _misfit(values: Sequence[Any]) -> str:
    """What is wrong with values of which no column can be made."""
    first_kind = next((_kind(value) for value in values if value is not None), "")
    for row, value in enumerate(values):
        if isinstance(value, int) and abs(value) > _LARGEST:
            return f"row {row} holds a whole number that is too large: give at most {_LARGEST}, or text"
        if value is not None and _kind(value) != first_kind:
            return f"row {row} holds {_kind(value)}, and rows before it {first_kind}: give the same kind in every row"
    return "the lists or objects of its rows do not hold the same kind of values: give the same kind in every row"


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)
