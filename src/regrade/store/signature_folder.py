"""The folder of the signatures of a set of images: a table and the thumbnails."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
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
from regrade.store.checksums import Checksums
from regrade.store.layout import folder_of_signatures
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.store.transaction import Transaction

TABLE = "signatures.parquet"
THUMBNAILS = "thumbnails.npy"
_FORMAT = 1


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


def stage_signatures(
    change: Transaction, folder: Path, name: str, key: SignatureKey, parts: Iterable[Signatures]
) -> None:
    """Write a staged folder from consecutive parts, one at a time; the table is written last."""
    columns: list[Signatures] = []

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
        PLACE: f"{folder_of_signatures(name, key.digest)}/{TABLE}",
        "way": key.way,
        "digest": key.digest,
        "size": key.size,
        "root": key.source.root,
        "files": {THUMBNAILS: thumbnails.as_json()},
    }
    change.write(folder / TABLE, lambda file: write_parquet(table, meta, file))


def read_signatures(folder: Path) -> Signatures:
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


def reusable_from_folder(folder: Path, key: SignatureKey) -> tuple[Signatures, dict[str, int]] | None:
    """Signatures computed in the same way, with the row of each location; None if computed in another way."""
    table, meta = read_parquet(folder / TABLE, ["location"])
    if meta["way"] != key.way:
        return None
    return read_signatures(folder), {location: row for row, location in enumerate(table["location"].to_pylist())}


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
