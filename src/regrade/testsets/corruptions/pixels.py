"""Pixels between the bytes of a image and numbers from 0 to 1."""

from __future__ import annotations

import io
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray

Pixels: TypeAlias = NDArray[np.uint8]
"""A image (height, width, 3)."""

_ROUNDING = 1e-3  # of a gray level: what single precision may be off by


def as_unit(pixels: Pixels) -> NDArray[np.float32]:
    """Gray levels as numbers from 0 to 1."""
    return pixels.astype(np.float32) / np.float32(255)


def as_bytes(values: FloatArray) -> Pixels:
    """Numbers as gray levels, those outside 0 to 1 cut off; fractions are dropped, as in the released images."""
    return np.clip(values * 255 + _ROUNDING, 0, 255).astype(np.uint8)


def through_jpeg(pixels: Pixels, quality: int) -> Pixels:
    """A image after it was stored as JPEG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.array(Image.open(file))
