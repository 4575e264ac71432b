"""Pixels as bytes and as floats in 0 to 1, cropped as ImageNet-C does, and with Gaussian, shot or impulse noise."""

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

_SPREADS = (0.08, 0.12, 0.18, 0.26, 0.38)
_PHOTONS = (60, 25, 12, 5, 3)
_BROKEN = (0.03, 0.06, 0.09, 0.17, 0.27)


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


def gaussian_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Add Gaussian noise to every value."""
    noise = rng.standard_normal(pixels.shape, dtype=np.float32)
    return as_bytes(as_unit(pixels) + _SPREADS[severity - 1] * noise)


def shot_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Poisson noise: every value is a number of photons, few even for white."""
    white = _PHOTONS[severity - 1]
    return as_bytes(rng.poisson(as_unit(pixels) * white) / white)


def impulse_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Replace a fraction of all values by black or white."""
    drawn = rng.random(pixels.shape, dtype=np.float32)
    share = _BROKEN[severity - 1]
    return np.where(drawn < share / 2, np.uint8(0), np.where(drawn < share, np.uint8(255), pixels))
