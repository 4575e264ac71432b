"""The signatures of a set's images as a folder: a table, the thumbnails, and what they belong to."""

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
    """Whose signatures they are: the images, and the size at which they were looked at.

    ``way`` says how the images are read, wherever in the set they stand: signatures made the same way can be taken
    over for images at the same places.
    """

    source: ImageSource
    size: int

    @cached_property
    def way(self) -> str:
        """A hash of everything that signatures depend on but the images' places."""
        source = self.source
        parts = (source.reader, source.root, source.orientation.value, source.border, self.size, _FORMAT)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """A hash of the way and of all places."""
        state = hashlib.sha256(self.way.encode())
        for location in self.source.locations:
            state.update(f"{location}\n".encode())
        return state.hexdigest()


def stage_signatures(
    change: Transaction, folder: Path, name: str, signed: SignatureKey, parts: Iterable[Signatures]
) -> None:
    """Fill a staged folder from parts that follow one another, a part at a time; the table goes last."""
    columns: list[Signatures] = []

    def write_thumbnails(file: BinaryIO) -> None:
        for part in parts:
            if not columns:
                shape = (len(signed.source.locations), *part.thumbnails.shape[1:])
                begin_array(file, part.thumbnails.dtype, shape)
            add_rows(file, part.thumbnails)
            columns.append(_without_thumbnails(part))

    thumbnails = Checksums.of_file(change.write(folder / THUMBNAILS, write_thumbnails))
    table = _table(joined_signatures(columns), signed)
    meta = {
        PLACE: f"{folder_of_signatures(name, signed.digest)}/{TABLE}",
        "way": signed.way,
        "digest": signed.digest,
        "size": signed.size,
        "root": signed.source.root,
        "files": {THUMBNAILS: thumbnails.as_json()},
    }
    change.write(folder / TABLE, lambda file: write_parquet(table, meta, file))


def read_signatures(folder: Path) -> Signatures:
    """Read signatures back, the thumbnails as a memory map that is checked as it is used."""
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


def taken_over(folder: Path, signed: SignatureKey) -> tuple[Signatures, dict[str, int]] | None:
    """Signatures that were made the same way with the row of each place; none where they were made another way."""
    table, meta = read_parquet(folder / TABLE, ["location"])
    if meta["way"] != signed.way:
        return None
    return read_signatures(folder), {place: row for row, place in enumerate(table["location"].to_pylist())}


def _without_thumbnails(part: Signatures) -> Signatures:
    empty = np.zeros((len(part), 0), dtype=np.uint8)
    return Signatures(part.size, part.pixel_hashes, part.phashes, empty, part.areas, part.unreadable)


def _table(found: Signatures, signed: SignatureKey) -> pa.Table:
    columns: dict[str, Any] = {
        "location": list(signed.source.locations),
        "pixel_hash": [row.tobytes() for row in found.pixel_hashes],
        "phash": found.phashes[:, 0],
        "mirrored_phash": found.phashes[:, 1],
        "area": _whole(found.areas),
        "unreadable": pa.array([found.unreadable.get(i) for i in range(len(found))], type=pa.string()),
    }
    return pa.table(columns)


def _whole(values: IntArray) -> IntArray:
    return values.astype(np.int64)
