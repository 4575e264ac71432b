"""Pictures as one array of pixels, as CIFAR's descendants come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import FileStamp, FormatError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.core.arrays import IntArray
from regrade.testsets.class_names import classes_by_name
from regrade.testsets.reader import Found, Layout, Reader, Wanted, check_still_there, file_stamp

_PICTURES = ("images", "image", "data", "pictures", "x", "x_test")
_LABELS = ("labels", "label", "targets", "y", "y_test")
_CHANNELS = (1, 3)
_LOADING = Lock()  # so that many threads that start at once load an archive once


class ArrayReader(Reader):
    """NPZ with images and labels, or NPY with its labels in a file beside it, named alike but for data or _labels."""

    name = "arrays"

    def recognises(self, path: Path) -> bool:
        """An NPY or NPZ file."""
        return path.suffix.lower() in (".npy", ".npz")

    def find(self, path: Path, wanted: Wanted) -> Found:
        """One example a row of the array; its id is the row's number."""
        wanted.refuse_columns("file of arrays")
        pixels = _pixels(path)
        rows = tuple(str(row) for row in range(len(pixels)))
        if wanted.layout is Layout.FLAT:
            return Found(rows, None, rows)
        return Found(rows, _labels(path, len(pixels), wanted), rows)

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by row."""
        check_still_there(Path(source.root))
        return ArrayPictures(Path(source.root), source.locations)


@dataclass(frozen=True)
class ArrayPictures(Pictures):
    """Rows of one array of pixels."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> Picture:
        """The pixels of a picture."""
        row = int(self.places[position])
        with _LOADING:
            array = self._array
        if row >= len(array):
            raise UnreadablePicture(f"{self.root.name} has no row {row}")
        return np.asarray(array[row])

    def stamp(self, position: int) -> FileStamp | None:  # noqa: ARG002
        """The stamp of the file that holds all images."""
        return self._stamp

    @cached_property
    def _stamp(self) -> FileStamp | None:
        return file_stamp(self.root)  # before the file is read: a later change is then seen

    @cached_property
    def _array(self) -> NDArray[Any]:
        return _pixels(self.root)

    def __getstate__(self) -> dict[str, object]:
        return {"root": self.root, "places": self.places}


def _pixels(path: Path) -> NDArray[Any]:
    """Pictures (n, h, w) or (n, h, w, 3); channels that come first are moved last."""
    array = _loaded(path, _PICTURES)
    if array is None:
        raise FormatError(f"{path}: the array of pictures must be called {_PICTURES[0]}")
    if array.dtype != np.uint8 or array.ndim not in (3, 4):
        raise FormatError(f"{path}: pictures must be bytes (n, height, width, 3), got {array.dtype} {array.shape}")
    if array.ndim == 4 and array.shape[1] in _CHANNELS and array.shape[3] not in _CHANNELS:
        array = np.moveaxis(array, 1, 3)
    if not array.size or (array.ndim == 4 and array.shape[3] not in _CHANNELS):
        raise FormatError(f"{path}: pictures must be bytes (n, height, width, 3), got {array.dtype} {array.shape}")
    return array


def _labels(path: Path, rows: int, wanted: Wanted) -> IntArray:
    labels = _loaded(path, _LABELS) if _is_archive(path) else _labels_beside(path)
    if labels is None:
        raise FormatError(f"{path} has no labels; pictures without labels: --layout flat")
    if labels.shape == (rows, 1):
        labels = labels[:, 0]
    if labels.shape != (rows,) or not np.issubdtype(labels.dtype, np.integer):
        raise FormatError(f"{path}: {rows:,} pictures, but labels {labels.dtype} {labels.shape}")
    values, inverse = np.unique(labels, return_inverse=True)
    names = {str(value): str(value) for value in values.tolist()}
    classes = classes_by_name(names, wanted.space, wanted.naming, what="label", where=path)
    return np.array(list(classes.values()), dtype=np.int32)[inverse]


def _labels_beside(path: Path) -> NDArray[Any] | None:
    for name in (f"{path.stem}_labels.npy", path.name.replace("data", "labels")):
        beside = path.with_name(name)
        if beside != path and beside.is_file():
            return _loaded(beside, ())
    return None


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".npz"


def _loaded(path: Path, names: tuple[str, ...]) -> NDArray[Any] | None:
    try:
        if not _is_archive(path):
            return np.lib.format.open_memmap(path, mode="r")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return next((archive[name] for name in names if name in archive.files), None)
    except Exception as error:  # damage shows as whatever error zip, zlib or numpy's parser of headings has for it
        raise FormatError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None
