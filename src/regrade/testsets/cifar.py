"""The binary format of CIFAR-10: one byte of label and 3,072 bytes of pixels per image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regrade.core import FileStamp, FormatError, Images, ImageSource, StoredImage, UnreadableImage
from regrade.tables import check_file
from regrade.testsets.reader import Layout, Reader, ReaderOptions, ReaderResult, check_still_there, file_stamp

_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE


class CifarReader(Reader):
    """The file ``test_batch.bin`` of the official binary archive, or another batch."""

    name = "cifar"

    def recognizes(self, path: Path) -> bool:
        """A ``.bin`` file."""
        return path.suffix.lower() == ".bin" and path.is_file()

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """One example per record; the id is the record number."""
        options.refuse_columns("batch of CIFAR")
        _check_size(path)
        records = _records(path)
        rows = tuple(str(row) for row in range(len(records)))
        if options.layout is Layout.FLAT:
            return ReaderResult(rows, None, rows)
        labels = records[:, 0].astype(np.int32)
        if labels.max() >= len(options.space):
            row = int(np.argmax(labels >= len(options.space)))
            raise FormatError(
                f"{path}: record {row} has the label {labels[row]}, which is not a class of {options.space.name} (0 to "
                f"{len(options.space) - 1})"
            )
        return ReaderResult(rows, labels, rows)

    def open(self, source: ImageSource) -> Images:
        """Images by record."""
        check_still_there(source.path)
        return CifarImages(source.path, source.locations)


@dataclass(frozen=True)
class CifarImages(Images):
    """The records of one binary file."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> StoredImage:
        """The pixels of the image at a position, channels last."""
        try:
            record = self._all[int(self.places[position])]
        except OSError as error:
            raise UnreadableImage(f"{self.root.name}: {error.strerror or error}") from None
        except (IndexError, ValueError):
            raise UnreadableImage(
                f"{self.root.name}: the file is truncated at record {self.places[position]}"
            ) from None
        return np.ascontiguousarray(record[1:].reshape(3, _SIDE, _SIDE).transpose(1, 2, 0))

    def stamp(self, position: int) -> FileStamp | None:  # noqa: ARG002
        """The stamp of the file that contains all images."""
        return self._stamp

    @cached_property
    def _stamp(self) -> FileStamp | None:
        return file_stamp(self.root)  # taken before the file is read, so that a later change is noticed

    @cached_property
    def _all(self) -> NDArray[np.uint8]:
        return _records(self.root)

    def __getstate__(self) -> dict[str, object]:
        return {"root": self.root, "places": self.places}


def _check_size(path: Path) -> None:
    check_file(path)
    size = path.stat().st_size
    if size % _RECORD:
        raise FormatError(
            f"{path} has {size:,} bytes, but records of CIFAR-10 have {_RECORD:,} bytes each: the file is truncated, "
            "or not a binary batch of CIFAR-10"
        )


def _records(path: Path) -> NDArray[np.uint8]:
    return np.memmap(path, dtype=np.uint8, mode="r").reshape(-1, _RECORD)
