"""Checksums of files per block, so that part of a file can be checked without reading the rest."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regrade.store.file_errors import damaged, unreadable

BLOCK = 1 << 20
"""The number of bytes per block; each block has its own checksum."""


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
