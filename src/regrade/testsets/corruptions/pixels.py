"""Convert pixels between bytes and floats in 0 to 1, and crop them as ImageNet-C does."""

from __future__ import annotations

import io
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray

Pixels: TypeAlias = NDArray[np.uint8]
"""An image of shape (height, width, 3)."""

_ROUNDING = 1e-3  # rounding error of single precision, in gray levels
_SHORT_SIDE, _SIDE = 256, 224


def as_unit(pixels: Pixels) -> NDArray[np.float32]:
    """Convert bytes to floats in 0 to 1."""
    return pixels.astype(np.float32) / np.float32(255)


def as_bytes(values: FloatArray) -> Pixels:
    """Convert floats to bytes: clip to 0 to 1, and truncate fractions as in the released images."""
    return np.clip(values * 255 + _ROUNDING, 0, 255).astype(np.uint8)


def through_jpeg(pixels: Pixels, quality: int) -> Pixels:
    """Compress an image as JPEG and decode it again."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.array(Image.open(file))


def center(image: Image.Image) -> Pixels:
    """Resize the shorter side to 256 (bilinear) and crop the central 224 x 224 pixels, as in ImageNet-C."""
    shortest = min(image.size)
    width, height = (_SHORT_SIDE * length // shortest for length in image.size)
    left, top = round((width - _SIDE) / 2), round((height - _SIDE) / 2)
    resized = image.resize((width, height), Image.Resampling.BILINEAR)
    return np.array(resized.crop((left, top, left + _SIDE, top + _SIDE)))
