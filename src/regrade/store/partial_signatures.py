"""Signatures under way: parts written as they are done, so that a run that was stopped goes on where it was."""

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
from regrade.store.locks import locked_at_once
from regrade.store.refusals import refusals_as_errors

_HASH = 32  # bytes of a SHA-256, in front of every part
_ARRAYS = ("pixel_hashes", "phashes", "thumbnails", "areas")


@dataclass(frozen=True)
class PartialSignatures:
    """The signatures of one set, not finished yet. Use it within `alone`."""

    folder: Path
    images: int
    part_size: int

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes out; where another is at work this raises."""
        return locked_at_once(self.folder)

    def missing(self) -> list[range]:
        """The positions of each part that is not there yet, in order; what an earlier run has left is checked."""
        with refusals_as_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        return [positions for positions in self._ranges() if self._read(positions) is None]

    def add(self, positions: range, part: Signatures) -> None:
        """Write a part, whole or not at all."""
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
        """All parts in order, one at a time; one that is missing raises."""
        for positions in self._ranges():
            part = self._read(positions)
            if part is None:
                raise FormatError(f"a part of the signatures is missing in {self.folder}: run again")
            yield part

    def remove(self) -> None:
        """Clear the parts away, once the signatures are stored for good."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for parent in list(self.folder.parents)[:3]:
            with suppress(OSError):  # others are at work there
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
