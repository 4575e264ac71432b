"""Writing arrays as np.save does, row after row: by the file's own method, since np.save hides why a disk refuses."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

Array = np.ndarray[Any, Any]


def begin_array(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Say what will be in the file: rows one after another, whatever order they have in memory."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def add_rows(file: BinaryIO, rows: Array) -> None:
    """Write rows after those that are there."""
    file.write(np.ascontiguousarray(rows).data)


def write_array(file: BinaryIO, values: Array) -> None:
    """Write a whole array."""
    begin_array(file, values.dtype, values.shape)
    add_rows(file, values)
