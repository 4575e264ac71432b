"""Reading users' CSV and TSV files: every cell is read as text first, and a quote that is never closed raises."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from regrade.core import FormatError
from regrade.core.amounts import amount
from regrade.core.errors import not_utf8

_OTHER_SEPARATORS = {",": ";\t|", "\t": ",;|"}
_LARGEST_BLOCK = 2**31 - 1  # bytes
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REST_OF_CELL = re.compile(rb'(?:[^"]++|"")*+"')  # from the opening quote of a cell to its closing quote


def read_csv(path: Path, separator: str) -> pa.Table:
    """Read a table; columns become integers only if that loses nothing, so that an id such as 0012 keeps its zeros.

    Spaces around column names are ignored; a column without a name and without content is left out.
    """
    check_quotes(path, separator)
    columns_as_text = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in _heading(path, separator)},
        null_values=[""],
        strings_can_be_null=True,
    )
    table = parse_csv(path, separator, columns_as_text)
    names = [name.strip() for name in table.column_names]
    _check_separator(names, separator)
    columns = [(name, column) for name, column in zip(names, table.columns, strict=True) if name or _has_cells(column)]
    return pa.table([_whole_numbers(column) for _, column in columns], names=[name for name, _ in columns])


def parse_csv(path: Path, separator: str, conversion: pyarrow.csv.ConvertOptions) -> pa.Table:
    """Parse a file; raise if the number of cells of a row differs from the number of columns.

    Blocks are parsed in parallel; if a row is longer than a block, the whole file is one block.
    """
    parse_options = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    try:
        return pyarrow.csv.read_csv(path, parse_options=parse_options, convert_options=conversion)
    except pa.ArrowInvalid:
        _refuse_uneven_rows(path, separator)
    whole = pyarrow.csv.ReadOptions(block_size=min(path.stat().st_size + 1, _LARGEST_BLOCK))
    return pyarrow.csv.read_csv(path, whole, parse_options, conversion)


def _refuse_uneven_rows(path: Path, separator: str) -> None:
    """Raise if a row has more or fewer cells than the first line, or if there are no columns or rows."""
    with path.open(encoding="utf-8-sig", newline="") as file, suppress(csv.Error):  # raised for very long cells
        rows = csv.reader(file, delimiter=separator)
        heading = next((row for row in rows if row), None)
        if heading is None:
            raise FormatError("there are only blank lines: the first line must name the columns")
        has_rows = False
        for row in filter(None, rows):
            has_rows = True
            if len(row) != len(heading):
                raise FormatError(
                    f"line {rows.line_num} has {amount(len(row), 'cell')}, but the first line names "
                    f"{amount(len(heading), 'column')}: every row needs the same number"
                )
        if not has_rows:
            raise FormatError("there are no rows below the first line")


def check_quotes(path: Path, separator: str) -> None:
    """Raise if a quoted cell is not closed: the rows after it would silently become part of it.

    A file that is not UTF-8 raises too.
    """
    content = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error)) from None
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
        raise FormatError(
            f"there is only one column, {names[0]!r}: separate columns with {separator!r}, not with {mark!r}"
        )


def _has_cells(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as integers if that loses nothing."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return numbers if numbers.cast(column.type).equals(column) else column
