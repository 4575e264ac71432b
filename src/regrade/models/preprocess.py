"""Carrying out a recipe on a image."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray
from regrade.core.preprocessing import Preprocessing
from regrade.models.crop_geometry import MOST_PIXELS, Box, CropGeometry, frame_of
from regrade.models.resize import FILTERS, Resizer, as_image, resize, size_of


def preprocess(image: Image.Image, recipe: Preprocessing, by: Resizer = Resizer.PILLOW) -> FloatArray:
    """Shape (channels, size, size): a image, RGB or gray, as a model's input, in single precision."""
    return normalized(framed(image, recipe, by), recipe)


def framed(
    image: Image.Image | NDArray[np.uint8], recipe: Preprocessing, by: Resizer = Resizer.PILLOW
) -> NDArray[np.uint8]:
    """Shape (size, size, channels): the part of a image that the model sees, in gray levels.

    The image may be an array of its pixels (height, width, 3), which torch takes sooner.
    """
    mode = "RGB" if recipe.channels == 3 else "L"
    if isinstance(image, Image.Image) and image.mode not in ("RGB", "L"):
        image = image.convert("RGB")
    pixels = _framed(image, recipe, by)
    if pixels.ndim != (3 if mode == "RGB" else 2):
        pixels = np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).convert(mode))
    return np.atleast_3d(pixels)


def normalized(pixels: NDArray[np.uint8], recipe: Preprocessing) -> FloatArray:
    """Shape (channels, size, size): gray levels (size, size, channels) as a model's input."""
    values = np.empty((recipe.channels, recipe.size, recipe.size), dtype=np.float32)
    for channel, levels in enumerate(_normalized_levels(tuple(recipe.mean), tuple(recipe.std))):
        np.take(levels, pixels[..., channel], out=values[channel], mode="clip")
    return values


@lru_cache(maxsize=16)
def _normalized_levels(mean: tuple[float, ...], std: tuple[float, ...]) -> FloatArray:
    """Shape (channels, 256): what each gray level becomes."""
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    return (levels - np.array(mean, dtype=np.float32)[:, None]) / np.array(std, dtype=np.float32)[:, None]


def _framed(image: Image.Image | NDArray[np.uint8], recipe: Preprocessing, by: Resizer) -> NDArray[np.uint8]:
    """Shape (size, size) or (size, size, 3): the part of a image that the model sees."""
    frame = frame_of(size_of(image), recipe)
    if frame.pixels > MOST_PIXELS:
        return _center_of_resized(as_image(image), frame, recipe)
    cropped = image if frame.first is None else _cropped(image, frame.first)
    resized = resize(cropped, frame.size, recipe.interpolation, by)
    left, top, right, bottom = frame.then
    return resized[top:bottom, left:right]


def _cropped(image: Image.Image | NDArray[np.uint8], box: Box) -> Image.Image | NDArray[np.uint8]:
    left, top, right, bottom = box
    return image.crop(box) if isinstance(image, Image.Image) else image[top:bottom, left:right]


def _center_of_resized(image: Image.Image, frame: CropGeometry, recipe: Preprocessing) -> NDArray[np.uint8]:
    """The central square of a resized image without the rest, which for a long and narrow one fills the memory."""
    left, top, right, bottom = frame.then
    across, down = image.width / frame.size[0], image.height / frame.size[1]
    box = (left * across, top * down, min(right * across, image.width), min(bottom * down, image.height))
    return np.asarray(image.resize((recipe.size, recipe.size), FILTERS[recipe.interpolation], box=box))
