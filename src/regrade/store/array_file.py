"""Arrays on disk, in the form of np.save: written row after row, opened as memory maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from regrade.core import FormatError

Array = np.ndarray[Any, Any]


def begin_array(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Say what will be in the file: rows one after another, whatever order they have in memory."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def add_rows(file: BinaryIO, rows: Array) -> None:
    """Write rows after those that are there, by the file's own method: np.save hides why a disk refuses."""
    file.write(np.ascontiguousarray(rows).data)


def write_array(file: BinaryIO, values: Array) -> None:
    """Write a whole array."""
    begin_array(file, values.dtype, values.shape)
    add_rows(file, values)


def open_array(path: Path) -> Array:
    """A stored array as a memory map; what is missing, cut off or no array of numbers raises in one line."""
    try:
        return np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
