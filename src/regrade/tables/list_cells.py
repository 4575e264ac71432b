"""Lists in the cells of a text column, as Python, JSON, numpy and torch print them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from regrade.core import FormatError
from regrade.tables.files import is_text

_PRINTED = re.compile(r"\s*(?:array|tensor)\((.*?)(?:,\s*(?:device|dtype|grad_fn|requires_grad)=.*)?\)\s*", re.DOTALL)
_TEXT_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*,?\s*""")
_SHORTENED = "..."


def parse_list_cells(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A text column of lists such as ``[1, 2]``, ``[1 2]`` or ``['cat' 'dog']`` as a column of lists.

    ``array(...)`` and ``tensor(...)`` around a list or a number are ignored. Another column is returned unchanged; a
    column in which only the first cells are lists, or a list that was shortened with ``...``, raises.
    """
    if not is_text(column.type) or not len(column) or column[0].as_py() is None:
        return column
    if _PRINTED.fullmatch(str(column[0].as_py())):
        column = pa.chunked_array([pa.array([_unwrapped(text) for text in column.to_pylist()], pa.string())])
    if not _is_list(column[0].as_py()):
        return column
    texts = column.to_pylist()
    row = next((row for row, text in enumerate(texts) if not _is_list(text)), None)
    if row is not None:
        raise FormatError(
            f"column {name!r}, row {row + 1}: expected a list in square brackets, as in the rows before it"
        )
    return pa.chunked_array([pa.array([_items(text, name, row) for row, text in enumerate(texts)])])


def with_list_columns(table: pa.Table) -> pa.Table:
    """A table in which every text column of lists has become a column of lists."""
    names = table.column_names
    return pa.table([parse_list_cells(table[name], name) for name in names], names=names)


def _unwrapped(text: str | None) -> str | None:
    match = None if text is None else _PRINTED.fullmatch(text)
    return match[1] if match else text


def _is_list(text: str | None) -> bool:
    return text is not None and text.strip().startswith("[") and text.strip().endswith("]")


def _items(text: str, name: str, row: int) -> list[Any]:
    inside = text.strip()[1:-1].strip()
    if "'" in inside or '"' in inside:
        return _text_items(inside, name, row)
    if _SHORTENED in inside:
        raise FormatError(
            f"column {name!r}, row {row + 1}: the list was shortened with ... when it was written: write all its "
            "numbers, or write Parquet"
        )
    words = inside.replace(",", " ").split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return words


def _text_items(inside: str, name: str, row: int) -> list[str]:
    items, place = [], 0
    while place < len(inside):
        match = _TEXT_ITEM.match(inside, place)
        if match is None:
            raise FormatError(f"column {name!r}, row {row + 1}: the list {inside[:40]!r} cannot be read")
        items.append(re.sub(r"\\(.)", r"\1", next(group for group in match.groups() if group is not None)))
        place = match.end()
    return items
