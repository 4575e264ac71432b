"""Signatures of images as folders: a table and the thumbnails, and parts while they are computed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regrade.core import FormatError, ImageSource, Signatures, joined_signatures
from regrade.core.arrays import IntArray
from regrade.store.array_file import StoredArray, add_rows, begin_array
from regrade.store.atomic import replace_file
from regrade.store.checked_files import PLACE, Checksums, read_meta, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.file_errors import write_errors
from regrade.store.layout import file_name, place_of
from regrade.store.locks import locked_without_waiting
from regrade.store.transaction import Transaction

TABLE = "signatures.parquet"
THUMBNAILS = "thumbnails.npy"
_FORMAT = 1
_HASH = 32  # bytes of a SHA-256, in front of every part
_ARRAYS = ("pixel_hashes", "phashes", "thumbnails", "areas")


@dataclass(frozen=True)
class SignatureKey:
    """What signatures are computed from: the images and the size to which they are scaled.

    ``way`` identifies how images are read, whatever their locations: signatures computed in the same way can be reused
    for images at the same locations.
    """

    source: ImageSource
    size: int

    @cached_property
    def way(self) -> str:
        """A hash of everything that signatures depend on, except the locations of the images."""
        source = self.source
        parts = (source.reader, source.root, source.orientation.value, source.border, self.size, _FORMAT)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """A hash of ``way`` and all locations."""
        state = hashlib.sha256(self.way.encode())
        for location in self.source.locations:
            state.update(f"{location}\n".encode())
        return state.hexdigest()


class SignatureCollection(Collection[Iterable[Signatures], tuple[str, SignatureKey]]):
    """The signatures of sets of images, given in consecutive parts; the key is part of their place."""

    kind = "neighbors"
    main_file = TABLE

    def names_of(self, _parts: Iterable[Signatures], name_and_key: tuple[str, SignatureKey]) -> tuple[str, ...]:
        """The name of the set of images, and the digest of the key."""
        return name_and_key[0], name_and_key[1].digest[:16]

    def refusal(self, parts: Iterable[Signatures], name_and_key: tuple[str, SignatureKey]) -> str:
        """The error for signatures that are stored already."""
        return f"{self.path(*self.names_of(parts, name_and_key))} exists already"

    def is_same(self, _parts: Iterable[Signatures], _name_and_key: tuple[str, SignatureKey]) -> bool:
        """Signatures are not compared: they are computed only if they are not stored."""
        return False

    def put(self, change: Transaction, parts: Iterable[Signatures], name_and_key: tuple[str, SignatureKey]) -> None:
        """Stage a folder, one part at a time; the table is written last."""
        names, key = self.names_of(parts, name_and_key), name_and_key[1]
        folder, columns = change.new_folder(), list[Signatures]()

        def write_thumbnails(file: BinaryIO) -> None:
            for part in parts:
                if not columns:
                    shape = (len(key.source.locations), *part.thumbnails.shape[1:])
                    begin_array(file, part.thumbnails.dtype, shape)
                add_rows(file, part.thumbnails)
                columns.append(_without_thumbnails(part))

        thumbnails = Checksums.of_file(change.write(folder / THUMBNAILS, write_thumbnails))
        table = _table(joined_signatures(columns), key)
        meta = {
            PLACE: f"{place_of(self.kind, *names)}/{TABLE}",
            "way": key.way,
            "digest": key.digest,
            "size": key.size,
            "root": key.source.root,
            "files": {THUMBNAILS: thumbnails.as_json()},
        }
        change.write(folder / TABLE, lambda file: write_parquet(table, meta, file))
        change.place(folder, self.path(*names))

    def read(self, name: str, key: SignatureKey) -> Signatures | None:
        """The stored signatures of a set of images; None if there are none."""
        folder = self.path(name, key.digest[:16])
        return _decoded(folder) if (folder / TABLE).is_file() else None

    def sizes(self, name: str) -> frozenset[int]:
        """The image sizes for which signatures of a set are stored."""
        return frozenset(int(read_meta(table)["size"]) for table in self._tables(name))

    def reusable(self, name: str, key: SignatureKey) -> Iterator[tuple[Signatures, dict[str, int]]]:
        """Stored signatures computed in the same way for more or fewer images, with the row of each location."""
        for path in self._tables(name):
            table, meta = read_parquet(path, ["location"])
            if meta["way"] == key.way:
                rows = {location: row for row, location in enumerate(table["location"].to_pylist())}
                yield _decoded(path.parent), rows

    def unfinished(self, name: str, key: SignatureKey, *, part_size: int) -> PartialSignatures:
        """Unfinished signatures; they become visible once they are finished and added."""
        folder = self.root / ".partial" / ".signatures" / file_name(name) / key.digest[:16]
        return PartialSignatures(folder, len(key.source.locations), part_size)

    def _tables(self, name: str) -> list[Path]:
        return sorted(self._folder(name).glob(f"*/{TABLE}"))


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


def _decoded(folder: Path) -> Signatures:
    """Read signatures, with the thumbnails as a memory map that is checked as it is used."""
    table, meta = read_parquet(folder / TABLE)
    try:
        thumbnails = StoredArray(folder / THUMBNAILS, Checksums.from_json(meta["files"][THUMBNAILS]))
        return Signatures(
            int(meta["size"]),
            np.frombuffer(b"".join(table["pixel_hash"].to_pylist()), dtype=np.uint8).reshape(len(table), -1),
            np.column_stack([table[name].to_numpy() for name in ("phash", "mirrored_phash")]),
            cast(NDArray[np.uint8], thumbnails),
            table["area"].to_numpy(),
            {i: reason for i, reason in enumerate(table["unreadable"].to_pylist()) if reason is not None},
        )
    except (OSError, ValueError, KeyError) as error:
        raise FormatError(f"{folder} is damaged: {error}; remove it and run again") from None


def _without_thumbnails(part: Signatures) -> Signatures:
    empty = np.zeros((len(part), 0), dtype=np.uint8)
    return Signatures(part.size, part.pixel_hashes, part.phashes, empty, part.areas, part.unreadable)


def _table(signatures: Signatures, key: SignatureKey) -> pa.Table:
    columns: dict[str, Any] = {
        "location": list(key.source.locations),
        "pixel_hash": [row.tobytes() for row in signatures.pixel_hashes],
        "phash": signatures.phashes[:, 0],
        "mirrored_phash": signatures.phashes[:, 1],
        "area": _whole(signatures.areas),
        "unreadable": pa.array([signatures.unreadable.get(i) for i in range(len(signatures))], type=pa.string()),
    }
    return pa.table(columns)


def _whole(values: IntArray) -> IntArray:
    return values.astype(np.int64)
