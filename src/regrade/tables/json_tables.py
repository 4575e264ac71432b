"""Tables in JSON: rows, columns, one object per id, pandas' split form, a class per id, or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from regrade.core import FormatError
from regrade.core.strict_json import parse_json
from regrade.tables.examples import ID_COLUMNS
from regrade.tables.files import check_file, parse_json_lines, read_text, table_of

_KEY_COLUMN = "image"  # the column of the keys of an object with one entry per image
_VALUE_COLUMN = "prediction"


def read_json_table(path: Path) -> pa.Table:
    """Read a table from a JSON file; content that is not a table, such as figures alone, raises.

    It is a list of objects, an object of columns, an object with one object, list or class per image, ``columns`` and
    ``data`` as pandas writes with ``orient="split"``, or one object per line.
    """
    check_file(path)
    try:
        table = _table(_content(read_text(path), path))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    if table.num_rows == 0:
        raise FormatError(f"{path} contains no rows")
    return table


def _content(text: str, path: Path) -> Any:
    try:
        return parse_json(text)
    except FormatError:
        first = text.lstrip().partition("\n")[0].strip()
        if first.startswith("{") and first.endswith("}"):
            return parse_json_lines(text)
        if first[:1] not in ("{", "[") and "," in first:
            hint = f"it looks like CSV: rename it to {path.with_suffix('.csv').name}"
            raise FormatError(f"is not JSON; {hint}") from None
        raise


def _table(content: Any) -> pa.Table:
    if isinstance(content, list):
        if not content or not all(isinstance(row, dict) for row in content):
            raise FormatError('expected a list of objects such as {"image": ..., "prediction": ...}')
        return table_of(content)
    if not isinstance(content, dict) or not content:
        raise FormatError("expected a list or an object")
    values = list(content.values())
    if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):
        return _of_split(content)
    if all(isinstance(value, dict) for value in values):
        return _of_objects(content)
    if all(isinstance(value, list) for value in values):
        return _of_lists(content)
    if all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in values):
        return table_of([{_KEY_COLUMN: key, _VALUE_COLUMN: value} for key, value in content.items()])
    return table_of([content])


def _of_split(content: Mapping[str, Any]) -> pa.Table:
    names, rows = content["columns"], content["data"]
    row = next((row for row, cells in enumerate(rows) if not _fits(cells, names)), None)
    if row is not None:
        raise FormatError(f"data, row {row + 1}: expected a list of {len(names)} cells, one per column")
    return table_of([dict(zip(map(str, names), cells, strict=True)) for cells in rows])


def _fits(cells: Any, names: list[Any]) -> bool:
    return isinstance(cells, list) and len(cells) == len(names)


def _of_objects(content: Mapping[str, dict[str, Any]]) -> pa.Table:
    """A table from one object per row, by id, or one object per column, by row number, as pandas writes them."""
    if all(key.isdigit() for column in content.values() for key in column):
        rows = next(iter(content.values())).keys()
        if any(column.keys() != rows for column in content.values()):
            raise FormatError("the columns have different rows")
        return table_of([{name: column[row] for name, column in content.items()} for row in rows])
    if any(_KEY_COLUMN in row for row in content.values()):
        return table_of(content.values())
    return table_of([{_KEY_COLUMN: key, **row} for key, row in content.items()])


def _of_lists(content: Mapping[str, list[Any]]) -> pa.Table:
    """A table from one list per column, or from one list of classes per image."""
    if not any(name.casefold() in ID_COLUMNS for name in content):
        return table_of([{_KEY_COLUMN: key, _VALUE_COLUMN: value} for key, value in content.items()])
    lengths = {name: len(column) for name, column in content.items()}
    if len(set(lengths.values())) > 1:
        raise FormatError(f"the columns have different lengths: {', '.join(f'{n} {v:,}' for n, v in lengths.items())}")
    names = list(content)
    return table_of([dict(zip(names, cells, strict=True)) for cells in zip(*content.values(), strict=True)])
