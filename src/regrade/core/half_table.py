"""Functions of half-precision numbers by table: there are only 65,536 of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import FloatArray


class HalfTable:
    """A function of one number, in single precision, at every number that half precision has.

    It is computed in double precision, so that the error is that of rounding, and looked up by pyarrow, which takes
    less time than numpy's conversion to single precision alone.

    >>> HalfTable(np.sqrt)(np.array([4.0, 0.25], dtype=np.float16))
    array([2. , 0.5], dtype=float32)
    """

    def __init__(self, function: Callable[[FloatArray], FloatArray]) -> None:
        import pyarrow as pa

        numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
        with np.errstate(all="ignore"):
            self._values = pa.array(function(numbers).astype(np.float32))

    def __call__(self, halves: NDArray[np.float16]) -> NDArray[np.float32]:
        """The function of each number, in a new array of the same shape."""
        import pyarrow as pa
        import pyarrow.compute as pc

        bits = np.ascontiguousarray(halves).view(np.uint16)
        places = pa.Array.from_buffers(pa.uint16(), bits.size, [None, pa.py_buffer(bits)])
        values = pc.take(self._values, places, boundscheck=False).buffers()[1]
        return np.frombuffer(values, dtype=np.float32, count=bits.size).reshape(halves.shape)
