"""Reading users' files: text, JSON, and tables as CSV, TSV, Parquet and JSON lines."""

from __future__ import annotations

import csv
import errno
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from regrade.core import FormatError, InputError, UnknownName
from regrade.core.amounts import amount
from regrade.core.errors import not_utf8
from regrade.core.strict_json import parse_json

_OTHER_SEPARATORS = {",": ";\t|", "\t": ",;|"}
_LARGEST_BLOCK = 2**31 - 1  # bytes
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REST_OF_CELL = re.compile(rb'(?:[^"]++|"")*+"')  # from the opening quote of a cell to its closing quote
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""The extensions of table files."""
_FORMS = {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
_LARGEST = 2**63 - 1
_KINDS = {bool: "true or false", int: "numbers", float: "numbers", str: "text", list: "lists", dict: "objects"}


def check_file(path: Path) -> None:
    """Raise if there is no file, or if it is empty."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder: expected a file")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark; other encodings raise."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error)) from None


def read_json(path: Path) -> object:
    """Read a JSON file; invalid JSON and duplicate keys in an object raise."""
    check_file(path)
    try:
        content: object = parse_json(read_text(path))
    except FormatError as error:
        raise FormatError(f"{path} {error}") from None
    return content


@contextmanager
def errors_with_path(path: Path) -> Iterator[None]:
    """Prefix the message of an `InputError` with the path of the file, unless it contains the path already."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        kind = InputError if isinstance(error, UnknownName) else type(error)
        raise kind(f"{path}: {error}") from None


def why_unreadable(error: Exception, form: str) -> str:
    """Why a file of a format, such as Parquet, cannot be read."""
    if isinstance(error, OSError) and error.strerror and error.errno != errno.EINVAL:  # of an offset in the file
        return error.strerror
    if isinstance(error, MemoryError):
        return "it does not fit in memory"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, NotImplementedError):
        return f"it uses a part of {form} that is not supported: write it with plain columns and the usual compression"
    return f"it is truncated or damaged, or is not {form}: write it again"


def first_line(error: BaseException) -> str:
    """The first line of an error's message; characters that cannot be printed are replaced by question marks."""
    line = str(error).strip().partition("\n")[0]
    return "".join(letter if letter.isprintable() else "?" for letter in line)


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
        with pyarrow.parquet.ParquetFile(path) as file:  # read_table imports pandas, and reads columns from the path
            _refuse_repeated(file.schema_arrow.names)  # pyarrow cannot read such a table
            return file.read()
    if suffix in (".csv", ".tsv"):
        return read_csv(path, "," if suffix == ".csv" else "\t")
    return table_of(parse_json_lines(read_text(path)))


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
        return table_of(rows)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def parse_json_lines(text: str) -> list[dict[str, Any]]:
    """The objects of a text with one JSON object per line; blank lines are ignored."""
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except FormatError as error:
            raise FormatError(f"line {number} {error}") from None
        if not isinstance(row, dict):
            raise FormatError(f'line {number}: expected an object such as {{"image": ...}}')
        rows.append(row)
    return rows


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
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
            return f"row {row + 1} contains an integer that is too large: give at most {_LARGEST}, or text"
        if value is not None and _kind(value) != first_kind:
            return f"row {row + 1} contains {_kind(value)}, and rows before it {first_kind}: use one type in all rows"
    return "the lists or objects of the rows contain values of different types: use one type in all rows"


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)
