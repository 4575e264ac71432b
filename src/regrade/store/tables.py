"""Reading the tables that people bring: CSV, TSV, Parquet, JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from regrade.core import FormatError, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")


def read_table(path: Path) -> pa.Table:
    """Read a table by its file ending; an empty, damaged or unknown file raises in one line."""
    check_file(path)
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise FormatError(f"{path}: tables end in {', '.join(TABLE_SUFFIXES)}, not {suffix or 'nothing'}")
    try:
        table = _read(path, suffix)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise FormatError(f"{path} cannot be read as {suffix[1:]}: {first_line(error)}") from None
    if table.num_rows == 0:
        raise FormatError(f"{path} holds no rows")
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
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not valid JSON: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0]


def _read(path: Path, suffix: str) -> pa.Table:
    if suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    if suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        return pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=separator))
    return _read_json_lines(path)


def _read_json_lines(path: Path) -> pa.Table:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{path}, line {number}: not valid JSON: {first_line(error)}") from None
        if not isinstance(row, dict):
            raise FormatError(f'{path}, line {number}: an object is wanted, such as {{"image": ...}}')
        rows.append(row)
    return pa.Table.from_pylist(rows)
