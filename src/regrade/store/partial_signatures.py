"""Unfinished signatures: parts are written as they are computed, so that a stopped run can be resumed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import FormatError, Signatures
from regrade.store.atomic import replace_file
from regrade.store.error_contexts import write_errors
from regrade.store.locks import locked_without_waiting

_HASH = 32  # bytes of a SHA-256, in front of every part
_ARRAYS = ("pixel_hashes", "phashes", "thumbnails", "areas")


@dataclass(frozen=True)
class PartialSignatures:
    """The unfinished signatures of one set of images. Use it within `locked`."""

    folder: Path
    images: int
    part_size: int

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock; raise if another process holds it."""
        return locked_without_waiting(self.folder)

    def missing(self) -> list[range]:
        """The positions of each missing part, in order; parts of an earlier run are checked."""
        with write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        return [positions for positions in self._ranges() if self._read(positions) is None]

    def add(self, positions: range, part: Signatures) -> None:
        """Write a part atomically."""
        buffer = io.BytesIO()
        reasons = json.dumps({str(position): reason for position, reason in part.unreadable.items()}).encode()
        np.savez(
            buffer,
            size=np.array(part.size),
            unreadable=np.frombuffer(reasons, dtype=np.uint8),
            **{name: getattr(part, name) for name in _ARRAYS},
        )
        content = buffer.getvalue()
        replace_file(self._path(positions), hashlib.sha256(content).digest() + content)

    def parts(self) -> Iterator[Signatures]:
        """All parts in order, one at a time; raise if one is missing."""
        for positions in self._ranges():
            part = self._read(positions)
            if part is None:
                raise FormatError(f"a part of the signatures is missing in {self.folder}: run again")
            yield part

    def remove(self) -> None:
        """Remove the parts, once the signatures are stored."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for parent in list(self.folder.parents)[:3]:
            with suppress(OSError):  # not empty: other processes use it
                parent.rmdir()

    def _ranges(self) -> Iterator[range]:
        for start in range(0, self.images, self.part_size):
            yield range(start, min(start + self.part_size, self.images))

    def _path(self, positions: range) -> Path:
        return self.folder / f"{positions.start:09d}-{positions.stop:09d}.part"

    def _read(self, positions: range) -> Signatures | None:
        path = self._path(positions)
        if not path.is_file():
            return None
        data = path.read_bytes()
        if hashlib.sha256(data[_HASH:]).digest() != data[:_HASH]:
            raise FormatError(f"{path} is damaged: remove it and run again")
        with np.load(io.BytesIO(data[_HASH:]), allow_pickle=False) as archive:
            reasons = json.loads(archive["unreadable"].tobytes().decode())
            unreadable = {int(position): reason for position, reason in reasons.items()}
            arrays = {name: archive[name] for name in _ARRAYS}
            return Signatures(int(archive["size"]), **arrays, unreadable=unreadable)
