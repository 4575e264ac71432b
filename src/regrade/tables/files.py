"""Reading users' tables: CSV, TSV, Parquet and JSON lines."""

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
from regrade.tables.text_files import check_file, read_json, read_text, why_unreadable

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""The extensions of table files."""

_FORMS = {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_LARGEST = 2**63 - 1
_KINDS = {bool: "true or false", int: "numbers", float: "numbers", str: "text", list: "lists", dict: "objects"}


def read_table(path: Path) -> pa.Table:
    """Read a table, in the format of its file extension; an empty or damaged file or another format raises."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        actual = f"not {suffix}" if suffix else "and it has none"
        raise FormatError(f"{path}: a table must have the extension {', '.join(TABLE_SUFFIXES)}, {actual}")
    try:
        table = _read(path, suffix)
        names = table.column_names
        _refuse_repeated(names)
        table = pa.table([_plain(name, column) for name, column in zip(names, table.columns, strict=True)], names=names)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, RecursionError, csv.Error) as error:
        raise FormatError(f"{path} cannot be read as {suffix[1:]}: {why_unreadable(error, _FORMS[suffix])}") from None
    if table.num_rows == 0:
        raise FormatError(f"{path} contains no rows")
    return table


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a string type."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list type."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _refuse_repeated(names: list[str]) -> None:
    if len(set(names)) < len(names):
        name, _ = Counter(names).most_common(1)[0]
        raise FormatError(f"the column {name!r} occurs twice")


def _read(path: Path, suffix: str) -> pa.Table:
    if suffix == ".parquet":
        _refuse_repeated(pyarrow.parquet.read_schema(path).names)  # pyarrow cannot read such a table
        return pyarrow.parquet.read_table(path)
    if suffix in (".csv", ".tsv"):
        return read_csv(path, "," if suffix == ".csv" else "\t")
    return _read_json_lines(path)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without dictionary encoding; raise if it is damaged or its text is not UTF-8."""
    kind = _plain_type(column.type)
    try:
        column.validate(full=True)
        return column if kind == column.type else column.cast(kind)
    except pa.ArrowException:
        raise FormatError(f"column {name!r} contains {column.type} that is damaged, or is not UTF-8 text") from None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column without dictionary encoding, and with text for binary types."""
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or str(kind).endswith("_view"):
        return pa.string()
    if is_list(kind):
        return pa.list_(_plain_type(kind.value_type), getattr(kind, "list_size", -1))
    return kind


def read_json_rows(path: Path) -> pa.Table:
    """Read a table from a JSON list of objects, one per row."""
    rows = read_json(path)
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise FormatError(f'{path}: expected a JSON list of objects such as {{"image": ..., "class": ...}}')
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
            raise FormatError(f'line {number}: expected an object such as {{"image": ...}}')
        rows.append(row)
    return _table_of(rows)


def _table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Objects as a table; missing keys become empty cells."""
    kept = list(rows)
    names = dict.fromkeys(name for row in kept for name in row)
    return pa.table({name: _column_of([row.get(name) for row in kept], name) for name in names})


def _column_of(values: list[Any], name: str) -> pa.Array:
    """The values of a key as a column; raise with the first value that does not fit if types are mixed."""
    try:
        return pa.array(values)
    except (pa.ArrowException, UnicodeError, OverflowError, RecursionError):
        raise FormatError(f"{name!r}: {_misfit(values)}") from None


def _misfit(values: Sequence[Any]) -> str:
    """Why values cannot be converted to a column."""
    first_kind = next((_kind(value) for value in values if value is not None), "")
    for row, value in enumerate(values):
        if isinstance(value, int) and abs(value) > _LARGEST:
            return f"row {row} contains an integer that is too large: give at most {_LARGEST}, or text"
        if value is not None and _kind(value) != first_kind:
            return f"row {row} contains {_kind(value)}, and rows before it {first_kind}: use one type in all rows"
    return "the lists or objects of the rows contain values of different types: use one type in all rows"


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)
