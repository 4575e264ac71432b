"""Arrays in NPY files: written row by row, opened as memory maps, checked block by block."""

from __future__ import annotations

import io
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from regrade.core import FormatError
from regrade.store.checked_files import BLOCK, Checksums
from regrade.store.file_errors import damaged, unreadable

Array = np.ndarray[Any, Any]


def begin_array(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write the header of an array in C order; its rows follow with `add_rows`."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def add_rows(file: BinaryIO, rows: Array) -> None:
    """Append rows with the file's own ``write``: np.save hides why writing failed."""
    file.write(np.ascontiguousarray(rows).data)


def write_array(file: BinaryIO, values: Array) -> None:
    """Write a whole array."""
    begin_array(file, values.dtype, values.shape)
    add_rows(file, values)


class StoredArray(NDArrayOperatorsMixin):
    """An array on disk: a memory map whose blocks are checked before they are first used.

    It can be used like a numpy array: with any index, operators and methods, or through ``np.asarray``.
    """

    def __init__(self, path: Path, checksums: Checksums) -> None:
        self._path = path
        self._checksums = checksums
        self._unchecked = np.ones(len(checksums.crc32), dtype=bool)
        self._bytes = _map(path, checksums)

    @cached_property
    def _values(self) -> Array:
        """The memory map with the dtype and shape of the file's header."""
        self._check(0, min(BLOCK, len(self._bytes)))
        header = io.BytesIO(self._bytes[:BLOCK].tobytes())
        try:
            np.lib.format.read_magic(header)
            shape, _, dtype = np.lib.format.read_array_header_1_0(header)
            return self._bytes[header.tell() :].view(dtype).reshape(shape)
        except (ValueError, EOFError) as error:
            raise FormatError(f"{self._path} cannot be read: {error}") from None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._values.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._values.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        """Index as in numpy; only the blocks of the selected rows are checked."""
        start, stop = self._rows(index)
        row_size = self._values[:1].nbytes
        header = len(self._bytes) - self._values.nbytes
        self._check(header + start * row_size, header + stop * row_size)
        return self._values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The whole array."""
        self._check(0, len(self._bytes))
        values = self._values if dtype is None else self._values.astype(dtype, copy=False)
        return values.copy() if copy else values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a numpy function or an operator to the whole array."""
        arrays = [np.asarray(value) if isinstance(value, StoredArray) else value for value in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        """The methods of numpy arrays."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _rows(self, index: Any) -> tuple[int, int]:
        """The half-open range of rows that an index selects; all rows for indices other than integers and slices."""
        first = index[0] if isinstance(index, tuple) and index else index
        if isinstance(first, slice):
            reached = range(*first.indices(len(self)))
            return (min(reached[0], reached[-1]), max(reached[0], reached[-1]) + 1) if reached else (0, 0)
        if isinstance(first, int | np.integer) and -len(self) <= first < len(self):
            return int(first) % len(self), int(first) % len(self) + 1
        return 0, len(self)

    def _check(self, start: int, stop: int) -> None:
        """Check the blocks of bytes ``start`` to ``stop`` that were not checked before."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        for number in np.flatnonzero(self._unchecked[first:last]) + first:
            if not self._checksums.matches(int(number), self._bytes):
                raise damaged(self._path)
            self._unchecked[number] = False


def _map(path: Path, checksums: Checksums) -> np.ndarray[Any, np.dtype[np.uint8]]:
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise damaged(path, unreadable(error)) from None
    if len(content) != checksums.bytes:
        raise damaged(path, f"{len(content):,} bytes instead of {checksums.bytes:,}")
    return content
