"""Parquet files that say in their metadata what they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError

_KEY = b"regrade"


def write_parquet(table: pa.Table, meta: dict[str, Any], file: BinaryIO) -> None:
    """Write a table with the facts about it."""
    pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(meta)}), file, compression="zstd")


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> tuple[pa.Table, dict[str, Any]]:
    """Read a table, or some columns of it, and the facts about it; a damaged or foreign file raises."""
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=columns, use_threads=False)  # every thread would keep memory of its own
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
    return table, _meta(table.schema, path)


def read_meta(path: Path) -> dict[str, Any]:
    """Read only the facts."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
    return _meta(schema, path)


def stored_digest(path: Path) -> str:
    """The digest of what a file holds, as it was stored with it."""
    return str(read_meta(path)["digest"])


def _meta(schema: pa.Schema, path: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads(schema.metadata[_KEY])
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{path} was not written by regrade") from None
    return meta
