"""The number of images that both of two models classify correctly, for all pairs of models."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, IntArray

_BLOCK = 1 << 13  # images per block: float32 sums of 0 and 1 stay exact, and the buffer stays small


def joint_counts(correct: BoolArray) -> IntArray:
    """Shape (m, m): the number of images that models i and j both classify correctly, from ``correct`` (m, n)."""
    models, images = correct.shape
    both = np.zeros((models, models), dtype=np.int64)
    for start in range(0, images, _BLOCK):
        block = correct[:, start : start + _BLOCK].astype(np.float32)
        both += (block @ block.T).astype(np.int64)
    return both
