"""Scale images to a common size, and compute block means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import InputError
from regrade.core.arrays import FloatArray

SIZE = 256
"""Side length to which images are scaled before they are compared (Recht et al. 2019)."""

GRAY_SIDE = 32
"""Side length of the input of a perceptual hash; a common size must be a multiple of it."""


def check_size(size: int) -> None:
    """Raise if images of this side length cannot be divided into blocks."""
    if size < GRAY_SIDE or size % GRAY_SIDE:
        raise InputError(f"the size at which images are compared must be a multiple of {GRAY_SIDE}, got {size}")


def scaled(pixels: NDArray[np.uint8], size: int = SIZE) -> NDArray[np.uint8]:
    """An image (height, width, 3) scaled to a square, whatever its aspect ratio."""
    if pixels.shape[:2] == (size, size):
        return pixels
    return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).resize((size, size), Image.Resampling.BILINEAR))


def block_means(square: NDArray[np.uint8], side: int) -> FloatArray:
    """Shape (side, side, 3): the means over equal blocks of an image (size, size, 3)."""
    block = square.shape[0] // side
    rows = square.reshape(side, block, -1).sum(axis=1, dtype=np.uint32)
    return rows.reshape(side, side, block, 3).sum(axis=2, dtype=np.uint32) / block**2
