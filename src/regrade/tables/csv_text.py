"""CSV and TSV that people bring: every cell is text first, and a quote that is never closed raises."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from regrade.core import FormatError

_OTHER_SEPARATORS = {",": ";\t|", "\t": ",;|"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REST_OF_CELL = re.compile(rb'(?:[^"]++|"")*+"')  # behind the quote that opens a cell, up to the one that closes it


def read_csv(path: Path, separator: str) -> pa.Table:
    """Read every cell as text first: an id such as 0012 is no number and keeps its zeros.

    Blanks around the names of columns do not count; a column without a name and without content is left out.
    """
    check_quotes(path, separator)
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in _heading(path, separator)},
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    names = [name.strip() for name in table.column_names]
    _check_separator(names, separator)
    columns = [(name, column) for name, column in zip(names, table.columns, strict=True) if name or _has_cells(column)]
    return pa.table([_whole_numbers(column) for _, column in columns], names=[name for name, _ in columns])


def check_quotes(path: Path, separator: str) -> None:
    """Raise where a quoted cell does not end as one: the rows behind it would become part of it without a word."""
    content = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    opening = re.compile(rb'(?:\A|[\r\n%b])"' % re.escape(separator.encode()))
    ends = (b"", b"\r", b"\n", separator.encode())
    place = 0
    while (opened := opening.search(content, place)) is not None:
        cell = _REST_OF_CELL.match(content, opened.end())
        if cell is None or content[cell.end() : cell.end() + 1] not in ends:
            line = content.count(b"\n", 0, opened.end()) + 1
            raise FormatError(f"line {line} has a quote that is not closed: close it, or double it within a cell")
        place = cell.end()


def _heading(path: Path, separator: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=separator), [])


def _check_separator(names: list[str], separator: str) -> None:
    mark = next((mark for mark in _OTHER_SEPARATORS[separator] if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        raise FormatError(f"there is one column only, {names[0]!r}: separate columns by {separator!r}, not by {mark!r}")


def _has_cells(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as whole numbers where that loses nothing."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return numbers if numbers.cast(column.type).equals(column) else column
