"""Reading the tables that people bring: CSV, TSV, Parquet, JSON lines."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from regrade.core import FormatError, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""The endings of files that are tables."""


def read_table(path: Path) -> pa.Table:
    """Read a table by its file ending; an empty, damaged or unknown file raises in one line."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise FormatError(f"{path}: tables end in {', '.join(TABLE_SUFFIXES)}, not {suffix or 'nothing'}")
    try:
        table = _read(path, suffix)
        table.validate(full=True)
        names = table.column_names
        table = pa.table([_plain(column) for column in table.columns], names=names)
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, RecursionError, csv.Error) as error:
        raise FormatError(f"{path} cannot be read as {suffix[1:]}: {first_line(error)}") from None
    if table.num_rows == 0:
        raise FormatError(f"{path} holds no rows")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise FormatError(f"{path} has the column {twice[0]!r} twice")
    return table


def check_file(path: Path) -> None:
    """See that there is a file with something in it."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, a file is wanted")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty")


def read_json(path: Path) -> object:
    """Read a JSON file; a damaged one raises with the place of the damage."""
    check_file(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not valid JSON: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0]


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds lists."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _read(path: Path, suffix: str) -> pa.Table:
    if suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    if suffix in (".csv", ".tsv"):
        return _read_csv(path, "," if suffix == ".csv" else "\t")
    return _read_json_lines(path)


def _read_csv(path: Path, separator: str) -> pa.Table:
    """Read every cell as text first: an id such as 0012 is no number and keeps its zeros."""
    names = _heading(path, separator)
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, null_values=[""], strings_can_be_null=True
        ),
    )
    return pa.table([_whole_numbers(column) for column in table.columns], names=table.column_names)


def _heading(path: Path, separator: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=separator), [])


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as whole numbers where that loses nothing."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return numbers if numbers.cast(column.type).equals(column) else column


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = _plain_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without encodings that say nothing about the content."""
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or str(kind).endswith("_view"):
        return pa.string()
    if is_list(kind):
        return pa.list_(_plain_type(kind.value_type), getattr(kind, "list_size", -1))
    return kind


def _read_json_lines(path: Path) -> pa.Table:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{path}, line {number}: not valid JSON: {first_line(error)}") from None
        if not isinstance(row, dict):
            raise FormatError(f'{path}, line {number}: an object is wanted, such as {{"image": ...}}')
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})
