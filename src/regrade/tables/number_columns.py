"""Converting columns of numbers to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regrade.core import FormatError


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
