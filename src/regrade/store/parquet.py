"""Parquet files with metadata that describe them, and a checksum of all their bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError
from regrade.store.file_errors import damaged
from regrade.store.metadata import Metadata, metadata_in_place

_KEY = b"regrade"
_CHECKSUM = "sha256"  # the last key of the metadata, which is the last part of the file
_MARK = f'"{_CHECKSUM}": "'.encode()
_BLANK = b"0" * 64  # placeholder while the checksum is computed


def write_parquet(table: pa.Table, meta: dict[str, Any], file: BinaryIO) -> None:
    """Write a table with metadata and a checksum: the SHA-256 of the file with zeros in place of the checksum.

    The metadata of a file in a workspace must include its `PLACE`.
    """
    stated = json.dumps({**meta, _CHECKSUM: _BLANK.decode()})
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({_KEY: stated}), buffer, compression="zstd")
    before, _, after = _split(buffer.getvalue().to_pybytes())
    for part in (before, _hash(before, after), after):
        file.write(part)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> tuple[pa.Table, Metadata]:
    """Read a table, or some of its columns, and its metadata; raise if the file is damaged or misplaced."""
    file, meta = _opened(path)
    try:
        return file.read(columns=columns, use_threads=False), meta  # every thread would keep its own memory
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def read_meta(path: Path) -> Metadata:
    """Read only the metadata."""
    return _opened(path)[1]


def _opened(path: Path) -> tuple[pq.ParquetFile, Metadata]:
    """Open a file after checking its checksum, and check its place."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from None
    before, checksum, after = _split(content)
    if _hash(before, after) != checksum:
        raise damaged(path)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        meta: dict[str, Any] = json.loads(file.schema_arrow.metadata[_KEY])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
    del meta[_CHECKSUM]
    return file, metadata_in_place(path, meta)


def _split(content: bytes) -> tuple[memoryview, bytes, memoryview]:
    """The content of a file before its checksum, the checksum, and the content after it."""
    start = content.rfind(_MARK) + len(_MARK)
    end = start + len(_BLANK)
    return memoryview(content)[:start], content[start:end], memoryview(content)[end:]


def _hash(before: memoryview, after: memoryview) -> bytes:
    state = hashlib.sha256(before)
    state.update(_BLANK)
    state.update(after)
    return state.hexdigest().encode()
