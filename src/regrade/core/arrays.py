"""Type aliases for NumPy arrays, and counts of what two rows of an array have in common."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
FloatArray: TypeAlias = NDArray[np.floating[Any]]

_BLOCK = 1 << 13  # images per block: float32 sums of 0 and 1 stay exact, and the buffer stays small


def joint_counts(correct: BoolArray) -> IntArray:
    """Shape (m, m): the number of images that models i and j both classify correctly, from ``correct`` (m, n)."""
    models, images = correct.shape
    both = np.zeros((models, models), dtype=np.int64)
    for start in range(0, images, _BLOCK):
        block = correct[:, start : start + _BLOCK].astype(np.float32)
        both += (block @ block.T).astype(np.int64)
    return both
