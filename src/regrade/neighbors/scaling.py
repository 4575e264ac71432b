"""Images at a common size, and their block means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import InputError
from regrade.core.arrays import FloatArray

SIZE = 256
"""The side to which images are scaled before they are compared (Recht et al. 2019)."""

GRAY_SIDE = 32
"""The side of what a perceptual hash looks at; a common size is a multiple of it."""


def check_size(size: int) -> None:
    """Raise where images of this side have no whole blocks."""
    if size < GRAY_SIDE or size % GRAY_SIDE:
        raise InputError(f"images are compared at a size that is a multiple of {GRAY_SIDE}, got {size}")


def scaled(pixels: NDArray[np.uint8], size: int = SIZE) -> NDArray[np.uint8]:
    """A image (height, width, 3) squeezed into a square, whatever its proportions."""
    if pixels.shape[:2] == (size, size):
        return pixels
    return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).resize((size, size), Image.Resampling.BILINEAR))


def block_means(square: NDArray[np.uint8], side: int) -> FloatArray:
    """Shape (side, side, 3): the means over equal blocks of a image (size, size, 3)."""
    block = square.shape[0] // side
    rows = square.reshape(side, block, -1).sum(axis=1, dtype=np.uint32)
    return rows.reshape(side, side, block, 3).sum(axis=2, dtype=np.uint32) / block**2
