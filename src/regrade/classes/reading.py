"""Read CSV and JSON files written by users; every error is one line that names the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regrade.core import FormatError, InputError, UnknownName
from regrade.core.errors import not_utf8
from regrade.core.names import near_miss
from regrade.core.strict_json import parse_json


@dataclass(frozen=True)
class CsvRow:
    """One row of a CSV file: its last line number, and its cells by column without surrounding whitespace."""

    line: int
    cells: dict[str, str]


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Prefix the messages of errors with the path of the file."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    try:
        yield
    except InputError as error:
        raise FormatError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def read_rows(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> list[CsvRow]:
    """Read a CSV file with a header that contains the required columns.

    Other columns are ignored, but a misspelled optional column raises an error.
    """
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        columns = [column.strip().casefold() for column in reader.fieldnames or ()]
        _check_columns(columns, required, optional)
        reader.fieldnames = columns
        rows = [_row(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise FormatError(
            f"line {max(reader.line_num, 1)} is not valid CSV: close every quote, and double quotes within a cell"
        ) from error
    if not rows:
        raise FormatError("has a header but no rows; add one row per class")
    return rows


def read_json(path: Path) -> Any:
    """Read a JSON file; raise if a key is repeated in an object."""
    return parse_json(_text(path))


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error)) from error
    if not text.strip():
        raise FormatError("is empty")
    return text


def _check_columns(columns: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> None:
    for column in required:
        if column not in columns:
            raise FormatError(f"has no column {column!r}; its header contains {', '.join(columns)}")
    if len(set(columns)) != len(columns):
        raise FormatError("has a column twice in its header")
    for column in columns:
        if column not in optional and (near := near_miss(column, set(optional).difference(columns))):
            raise UnknownName("column", column, [near], hint=" (rename or remove it)")


def _row(line: int, cells: dict[str | Any, str | Any]) -> CsvRow:
    if None in cells:
        raise FormatError(f"line {line} has more cells than the header")
    if None in cells.values():
        raise FormatError(f"line {line} has fewer cells than the header")
    return CsvRow(line, {column: cell.strip() for column, cell in cells.items()})
