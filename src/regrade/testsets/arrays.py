"""Images stored as arrays of pixels: in an NPY or NPZ file, such as CIFAR-10.1, or in the binary format of CIFAR-10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import FileStamp, FormatError, Images, ImageSource, StoredImage, UnreadableImage
from regrade.core.arrays import IntArray
from regrade.tables import ArrayFile, check_file, ignored_names, open_arrays
from regrade.testsets.reader import (
    Layout,
    Reader,
    ReaderOptions,
    ReaderResult,
    check_still_there,
    classes_by_name,
    file_stamp,
)

_IMAGES = ("images", "image", "data", "x", "x_test")
_LABELS = ("labels", "label", "targets", "y", "y_test")
_CHANNELS = (1, 3)
_LOADING = Lock()  # an archive is loaded once, even if many threads start at the same time

_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE


class ArrayReader(Reader):
    """An NPZ file with images and labels, or an NPY file with the labels in NAME_labels.npy (or data -> labels)."""

    name = "arrays"

    def recognizes(self, path: Path) -> bool:
        """An NPY or NPZ file."""
        return path.suffix.lower() in (".npy", ".npz")

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """One example per row of the array; the id is the row number."""
        options.refuse_columns("file of arrays")
        arrays = open_arrays(path)
        pixels = _pixels(arrays)
        rows = tuple(str(row) for row in range(len(pixels)))
        labels = None if options.layout is Layout.FLAT else _labels(arrays, len(pixels), options)
        return ReaderResult(rows, labels, rows, notes=_notes(arrays, with_labels=labels is not None))

    def open(self, source: ImageSource) -> Images:
        """Images by row."""
        check_still_there(source.path)
        return ArrayImages(source.path, source.locations)


@dataclass(frozen=True)
class ArrayImages(Images):
    """Images that are rows of one array of pixels."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> StoredImage:
        """The pixels of the image at a position."""
        row = int(self.places[position])
        with _LOADING:
            array = self._array
        if row >= len(array):
            raise UnreadableImage(f"{self.root.name} has no row {row + 1}")
        return np.asarray(array[row])

    def stamp(self, position: int) -> FileStamp | None:  # noqa: ARG002
        """The stamp of the file that contains all images."""
        return self._stamp

    @cached_property
    def _stamp(self) -> FileStamp | None:
        return file_stamp(self.root)  # taken before the file is read, so that a later change is noticed

    @cached_property
    def _array(self) -> NDArray[Any]:
        return _pixels(open_arrays(self.root))

    def __getstate__(self) -> dict[str, object]:
        return {"root": self.root, "places": self.places}


def _pixels(arrays: ArrayFile) -> NDArray[Any]:
    """Images of shape (n, h, w) or (n, h, w, 3); a leading channel axis is moved to the end."""
    path = arrays.path
    name = arrays.first_of(("", *_IMAGES))
    if name is None:
        raise FormatError(f"{path}: the array of images must be called {_IMAGES[0]}")
    shape, dtype = arrays.declared[name].shape, arrays.declared[name].dtype
    channels_last = len(shape) == 3 or (len(shape) == 4 and shape[3] in _CHANNELS)
    channels_first = len(shape) == 4 and shape[1] in _CHANNELS and not channels_last
    if dtype != np.uint8 or 0 in shape or not (channels_first or channels_last):
        raise FormatError(f"{path}: images must be uint8 of shape (n, height, width, 3), got {dtype} {shape}")
    array = arrays.load(name)
    return np.moveaxis(array, 1, 3) if channels_first else array


def _notes(arrays: ArrayFile, *, with_labels: bool) -> tuple[str, ...]:
    keys = (("", *_IMAGES), _LABELS) if with_labels else (("", *_IMAGES),)
    used = {name for names in keys if (name := arrays.first_of(names)) is not None}
    return ignored_names((*arrays.declared, *arrays.not_arrays), used, noun="array")


def _labels(arrays: ArrayFile, rows: int, options: ReaderOptions) -> IntArray:
    path = arrays.path
    if "" in arrays.declared:
        labels = _labels_in_sibling_file(path)
    else:
        name = arrays.first_of(_LABELS)
        labels = None if name is None else arrays.load(name)
    if labels is None:
        raise FormatError(f"{path} has no labels; for images without labels use --layout flat")
    if labels.shape == (rows, 1):
        labels = labels[:, 0]
    if labels.shape != (rows,) or not np.issubdtype(labels.dtype, np.integer):
        raise FormatError(f"{path}: {rows:,} images, but labels of type {labels.dtype} and shape {labels.shape}")
    values, inverse = np.unique(labels, return_inverse=True)
    names = {str(value): str(value) for value in values.tolist()}
    classes = classes_by_name(names, options.space, options.naming, what="label", where=path)
    return np.array(list(classes.values()), dtype=np.int32)[inverse]


def _labels_in_sibling_file(path: Path) -> NDArray[Any] | None:
    for name in (f"{path.stem}_labels.npy", path.name.replace("data", "labels")):
        sibling = path.with_name(name)
        if sibling != path and sibling.is_file():
            return open_arrays(sibling).load("")
    return None


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
