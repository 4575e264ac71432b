"""Write and read the rows of a ledger as a CSV, JSON or Parquet file, without loss."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from sqlalchemy import Column

from regrade.core import FormatError
from regrade.ledger.column_types import FloatColumn, IntegerColumn, TimestampColumn
from regrade.ledger.row_format import all_columns
from regrade.tables import check_file, check_quotes, parse_csv, read_json, why_unreadable

SUFFIXES = (".csv", ".json", ".parquet")
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError)  # ValueError: invalid UTF-8 or timestamps


def rows_as_file(rows: Sequence[Mapping[str, Any]], suffix: str) -> bytes:
    """Encode rows in the format of a file suffix.

    In CSV, empty text is written as ``""`` and a missing value as nothing.
    """
    match suffix.lower():
        case ".json":
            lines = ",\n".join(json.dumps(_plain(row), ensure_ascii=False) for row in rows)
            return f"[\n{lines}\n]\n".encode()
        case ".csv":
            buffer = io.BytesIO()
            options = pyarrow.csv.WriteOptions(quoting_style="needed")
            pyarrow.csv.write_csv(_table([_plain(row) for row in rows], time_type=pa.string()), buffer, options)
            return buffer.getvalue()
        case ".parquet":
            buffer = io.BytesIO()
            table = _table(rows, time_type=pa.timestamp("us", tz="UTC"))
            pyarrow.parquet.write_table(table, buffer, compression="zstd")
            return buffer.getvalue()
    raise _unknown(suffix)


def rows_from_file(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a file without validating them; raises if the format is unknown or the file is damaged."""
    check_file(path)
    match path.suffix.lower():
        case ".json":
            return _from_json(path)
        case ".csv":
            return _from_csv(path)
        case ".parquet":
            return _from_parquet(path)
    raise _unknown(path.suffix)


def _unknown(suffix: str) -> FormatError:
    return FormatError(
        f"the file must end in {', '.join(SUFFIXES)}, not {f'in {suffix}' if suffix else 'without a suffix'}"
    )


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _iso(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _iso(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _table(rows: Sequence[Mapping[str, Any]], *, time_type: pa.DataType) -> pa.Table:
    kinds = {"kind": pa.string()} | {name: _arrow(column, time_type) for name, column in all_columns().items()}
    return pa.table({name: pa.array([row.get(name) for row in rows], type=kind) for name, kind in kinds.items()})


def _arrow(column: Column[Any], time_type: pa.DataType) -> pa.DataType:
    kinds = {TimestampColumn: time_type, IntegerColumn: pa.int64(), FloatColumn: pa.float64()}
    return next((kind for type_, kind in kinds.items() if isinstance(column.type, type_)), pa.string())


def _from_json(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise FormatError(f"{path}: expected a list of rows")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise FormatError(f"{path}: row {number} is not an object")
    return rows


def _from_csv(path: Path) -> list[dict[str, Any]]:
    names = ("kind", *all_columns())
    try:
        check_quotes(path, ",")
        conversion = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return _rows(parse_csv(path, ",", conversion))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise FormatError(f"{path} cannot be read: {why_unreadable(error, 'CSV')}") from None


def _from_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        return _rows(pyarrow.parquet.read_table(path))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise FormatError(f"{path} cannot be read: {why_unreadable(error, 'Parquet')}") from None


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    names = table.column_names
    if "kind" not in names:
        raise FormatError("these are not the rows of a ledger: the column kind is missing")
    if len(set(names)) < len(names):
        raise FormatError(f"the column {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    table.validate(full=True)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
