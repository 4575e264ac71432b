"""Converting columns of numbers and text to and from arrays, without one Python object per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from regrade.core import FormatError, PackedTexts


def number_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers or booleans of a column; empty cells raise.

    The result is that of pyarrow's ``to_numpy``, which imports pandas if it is installed and so takes longer.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        raise FormatError(f"{whole.null_count:,} of {len(whole):,} cells are empty in a column of numbers")
    if pa.types.is_boolean(whole.type):
        return np.from_dlpack(whole.cast(pa.uint8())).astype(bool)
    return np.from_dlpack(whole)


def packed_column(column: pa.ChunkedArray) -> PackedTexts:
    """The strings of a column without empty cells, packed in one buffer."""
    bounds = np.zeros(len(column) + 1, dtype=np.int64)
    np.cumsum(number_array(pc.binary_length(column)), out=bounds[1:])
    return PackedTexts(b"".join(_data(chunk) for chunk in column.chunks), bounds)


def shared_column(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The strings of a column with many equal values; equal strings share one object."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return tuple(values[index] for index in number_array(encoded.indices))


def text_array(texts: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array, without importing pandas as ``pa.array`` does if it is installed."""
    packed = texts if isinstance(texts, PackedTexts) else PackedTexts.of(texts)
    bounds, data = pa.py_buffer(packed.bounds), pa.py_buffer(packed.data)
    return pa.LargeStringArray.from_buffers(len(packed), bounds, data).cast(pa.string())


def _data(chunk: pa.StringArray) -> pa.Buffer | bytes:
    """The concatenated bytes of all strings of a chunk."""
    _, bounds, data = chunk.buffers()
    if not len(chunk) or data is None:
        return b""
    first, last = np.frombuffer(bounds, dtype=np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return data.slice(first, last - first)
