"""Preprocess an image: crop, resize, normalize."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray
from regrade.core.model_spec import Preprocessing
from regrade.models.crop_geometry import MAX_PIXELS, Box, CropGeometry, compute_crop
from regrade.models.resize import FILTERS, Resizer, as_image, resize, size_of


def preprocess(image: Image.Image, preprocessing: Preprocessing, resizer: Resizer = Resizer.PILLOW) -> FloatArray:
    """Shape (channels, size, size): an RGB or grayscale image as a model's input, in single precision."""
    return normalize(crop_and_resize(image, preprocessing, resizer), preprocessing)


def crop_and_resize(
    image: Image.Image | NDArray[np.uint8], preprocessing: Preprocessing, resizer: Resizer = Resizer.PILLOW
) -> NDArray[np.uint8]:
    """Shape (size, size, channels): the part of an image that the model sees, as bytes.

    The image may be an array of its pixels (height, width, 3), which is faster with `Resizer.TORCH`.
    """
    mode = "RGB" if preprocessing.channels == 3 else "L"
    if isinstance(image, Image.Image) and image.mode not in ("RGB", "L"):
        image = image.convert("RGB")
    pixels = _crop_and_resize(image, preprocessing, resizer)
    if pixels.ndim != (3 if mode == "RGB" else 2):
        pixels = np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).convert(mode))
    return np.atleast_3d(pixels)


def normalize(pixels: NDArray[np.uint8], preprocessing: Preprocessing) -> FloatArray:
    """Shape (channels, size, size): the bytes (size, size, channels) of an image as a model's input."""
    values = np.empty((preprocessing.channels, preprocessing.size, preprocessing.size), dtype=np.float32)
    for channel, levels in enumerate(_normalized_levels(tuple(preprocessing.mean), tuple(preprocessing.std))):
        np.take(levels, pixels[..., channel], out=values[channel], mode="clip")
    return values


@lru_cache(maxsize=16)
def _normalized_levels(mean: tuple[float, ...], std: tuple[float, ...]) -> FloatArray:
    """Shape (channels, 256): the normalized value of each byte."""
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    return (levels - np.array(mean, dtype=np.float32)[:, None]) / np.array(std, dtype=np.float32)[:, None]


def _crop_and_resize(
    image: Image.Image | NDArray[np.uint8], preprocessing: Preprocessing, resizer: Resizer
) -> NDArray[np.uint8]:
    """Shape (size, size) or (size, size, 3): the part of an image that the model sees."""
    geometry = compute_crop(size_of(image), preprocessing)
    if geometry.pixels > MAX_PIXELS:
        return _center_of_resized(as_image(image), geometry, preprocessing)
    cropped = image if geometry.crop_before is None else _cropped(image, geometry.crop_before)
    resized = resize(cropped, geometry.size, preprocessing.interpolation, resizer)
    left, top, right, bottom = geometry.crop_after
    return resized[top:bottom, left:right]


def _cropped(image: Image.Image | NDArray[np.uint8], box: Box) -> Image.Image | NDArray[np.uint8]:
    left, top, right, bottom = box
    return image.crop(box) if isinstance(image, Image.Image) else image[top:bottom, left:right]


def _center_of_resized(image: Image.Image, geometry: CropGeometry, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """The central square of a resized image without the rest, which would fill the memory for long, narrow images."""
    left, top, right, bottom = geometry.crop_after
    across, down = image.width / geometry.size[0], image.height / geometry.size[1]
    box = (left * across, top * down, min(right * across, image.width), min(bottom * down, image.height))
    return np.asarray(
        image.resize((preprocessing.size, preprocessing.size), FILTERS[preprocessing.interpolation], box=box)
    )
