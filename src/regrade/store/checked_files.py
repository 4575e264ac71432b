"""Files with checksums: Parquet tables and JSON objects that contain their own, and checksums of files per block."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError
from regrade.store.file_errors import damaged, unreadable

_KEY = b"regrade"
_CHECKSUM = "sha256"  # the last key of the metadata, which is the last part of the file
_MARK = f'"{_CHECKSUM}": "'.encode()
_BLANK = b"0" * 64  # placeholder while the checksum is computed
BLOCK = 1 << 20
"""The number of bytes per block; each block has its own checksum."""
PLACE = "place"
"""The metadata key for the path of a file relative to the workspace."""


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
    file, meta = _opened(path, read_content(path))
    try:
        return file.read(columns=columns, use_threads=False), meta  # every thread would keep its own memory
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def read_meta(path: Path) -> Metadata:
    """Read only the metadata."""
    return meta_of(path, read_content(path))


def meta_of(path: Path, content: bytes) -> Metadata:
    """The metadata of a table from the content of its file; raise if it is damaged or misplaced."""
    return _opened(path, content)[1]


def read_content(path: Path) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from None


def _opened(path: Path, content: bytes) -> tuple[pq.ParquetFile, Metadata]:
    """Open the content of a file after checking its checksum, and check its place."""
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


def checked_json(content: Mapping[str, Any]) -> bytes:
    """A JSON object as bytes, one key per line, with a checksum of its content."""
    return (json.dumps({**content, _CHECKSUM: _checksum(content)}, indent=1, ensure_ascii=False) + "\n").encode()


def read_checked_json(path: Path) -> Metadata:
    """Read a file that `checked_json` wrote; raise if it is damaged or anything else."""
    return _checked_json_of(path, read_content(path))


def _checked_json_of(path: Path, text: bytes) -> Metadata:
    try:
        content = json.loads(text)
        stored = content.pop(_CHECKSUM)
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        raise damaged(path) from None
    if stored != _checksum(content):
        raise damaged(path)
    return Metadata(path, content)


def stored_json(content: Mapping[str, Any], *, place: str) -> bytes:
    """A JSON object as bytes, with its place in the workspace and a checksum."""
    return checked_json({**content, PLACE: place})


def read_stored_json(path: Path) -> Metadata:
    """Read a file that `stored_json` wrote for this place; raise if it is damaged, misplaced or anything else."""
    return stored_json_of(path, read_content(path))


def stored_json_of(path: Path, text: bytes) -> Metadata:
    """The JSON object in the content of a file, as `read_stored_json`."""
    metadata = metadata_in_place(path, _checked_json_of(path, text))
    del metadata[PLACE]
    return metadata


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Checksums:
    """The size of a file and the CRC-32 of each of its blocks, as the manifest of its folder records them."""

    bytes: int
    crc32: tuple[int, ...]

    @classmethod
    def of(cls, content: Any) -> Checksums:
        """The checksums of bytes or any other buffer."""
        view = memoryview(content).cast("B")
        return cls(len(view), tuple(zlib.crc32(view[start : start + BLOCK]) for start in range(0, len(view), BLOCK)))

    @classmethod
    def of_file(cls, path: Path) -> Checksums:
        """The checksums of a file, without reading all of it into memory."""
        return cls.of(np.memmap(path, dtype=np.uint8, mode="r")) if path.stat().st_size else cls(0, ())

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Checksums:
        """Parse the checksums of a manifest: 8 hexadecimal digits per block."""
        packed = bytes.fromhex(content["crc32"])
        return cls(int(content["bytes"]), struct.unpack(f">{len(packed) // 4}I", packed))

    def as_json(self) -> dict[str, int | str]:
        """The checksums as a JSON object, for a manifest."""
        return {"bytes": self.bytes, "crc32": struct.pack(f">{len(self.crc32)}I", *self.crc32).hex()}

    def matches(self, block: int, content: Any) -> bool:
        """Whether the content of a block matches its checksum."""
        return zlib.crc32(content[block * BLOCK : (block + 1) * BLOCK]) == self.crc32[block]


def read_checked(path: Path, checksums: Checksums) -> bytes:
    """The content of a file; raise if it does not match its checksums."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise damaged(path, unreadable(error)) from None
    if Checksums.of(content) != checksums:
        raise damaged(path)
    return content


class Metadata(dict[str, Any]):
    """The metadata of a file as a dict that raises `DamagedFile` for missing keys."""

    def __init__(self, path: Path, stated: Mapping[str, Any]) -> None:
        super().__init__(stated)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise damaged(self.path, f"it does not state its {key}")


def metadata_in_place(path: Path, stated: Mapping[str, Any]) -> Metadata:
    """The metadata of a file at its stated place; raise if the file was renamed, copied or swapped.

    The place includes the kind of the file and all names, versions and numbers that identify it.
    """
    metadata = Metadata(path, stated)
    place = metadata[PLACE]
    if not f"/{path.as_posix()}".endswith(f"/{place}"):
        raise damaged(path, f"it holds {place}, not what its name says")
    return metadata
