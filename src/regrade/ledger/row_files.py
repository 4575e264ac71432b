"""The rows of a ledger as one file: CSV, JSON or Parquet; what is read is what was written, to the last letter."""

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
from regrade.ledger.row_form import columns_of_all
from regrade.ledger.schema import FloatColumn, IntegerColumn, TimestampColumn
from regrade.tables import check_file, check_quotes, parse_csv, read_json, why_unreadable

SUFFIXES = (".csv", ".json", ".parquet")
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError)  # ValueError: text that is not UTF-8, odd times


def rows_as_file(rows: Sequence[Mapping[str, Any]], suffix: str) -> bytes:
    """Rows in the form that a file's ending stands for.

    In CSV a text that is empty is quoted, and what is not there is not.
    """
    match suffix.lower():
        case ".json":
            lines = ",\n".join(json.dumps(_plain(row), ensure_ascii=False) for row in rows)
            return f"[\n{lines}\n]\n".encode()
        case ".csv":
            buffer = io.BytesIO()
            options = pyarrow.csv.WriteOptions(quoting_style="needed")
            pyarrow.csv.write_csv(_table([_plain(row) for row in rows], moments=pa.string()), buffer, options)
            return buffer.getvalue()
        case ".parquet":
            buffer = io.BytesIO()
            table = _table(rows, moments=pa.timestamp("us", tz="UTC"))
            pyarrow.parquet.write_table(table, buffer, compression="zstd")
            return buffer.getvalue()
    raise _unknown(suffix)


def rows_from_file(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, as they are; a file of another form raises."""
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
    return FormatError(f"a ledger is written as {', '.join(SUFFIXES)}, not as {suffix or 'a file without an ending'}")


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _iso(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _table(rows: Sequence[Mapping[str, Any]], *, moments: pa.DataType) -> pa.Table:
    kinds = {"kind": pa.string()} | {name: _arrow(column, moments) for name, column in columns_of_all().items()}
    return pa.table({name: pa.array([row.get(name) for row in rows], type=kind) for name, kind in kinds.items()})


def _arrow(column: Column[Any], moments: pa.DataType) -> pa.DataType:
    kinds = {TimestampColumn: moments, IntegerColumn: pa.int64(), FloatColumn: pa.float64()}
    return next((kind for type_, kind in kinds.items() if isinstance(column.type, type_)), pa.string())


def _from_json(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise FormatError(f"{path}: a list of rows is wanted")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise FormatError(f"{path}: row {number} is no object")
    return rows


def _from_csv(path: Path) -> list[dict[str, Any]]:
    names = ("kind", *columns_of_all())
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
        raise FormatError("these are no rows of a ledger: there is no column kind")
    if len(set(names)) < len(names):
        raise FormatError(f"the column {next(name for name in names if names.count(name) > 1)!r} is there twice")
    table.validate(full=True)
    found: list[dict[str, Any]] = table.to_pylist()
    return found
