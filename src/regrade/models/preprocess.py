"""Carrying out a recipe on a picture, with Pillow: the reference that anything faster is held to."""

from __future__ import annotations

import numpy as np
from PIL import Image

from regrade.core.arrays import FloatArray
from regrade.core.preprocessing import Framing, Interpolation, Preprocessing

_FILTERS = {
    Interpolation.NEAREST: Image.Resampling.NEAREST,
    Interpolation.BILINEAR: Image.Resampling.BILINEAR,
    Interpolation.BICUBIC: Image.Resampling.BICUBIC,
}
_MOST_PIXELS = 1 << 25


def preprocess(picture: Image.Image, recipe: Preprocessing) -> FloatArray:
    """Shape (channels, size, size): a picture, RGB or grey, as a model's input, in single precision."""
    mode = "RGB" if recipe.channels == 3 else "L"
    framed = _framed(picture if picture.mode in ("RGB", "L") else picture.convert("RGB"), recipe)
    pixels = np.asarray(framed if framed.mode == mode else framed.convert(mode), dtype=np.float32) / np.float32(255)
    mean, std = np.array(recipe.mean, dtype=np.float32), np.array(recipe.std, dtype=np.float32)
    normalised = (np.atleast_3d(pixels) - mean) / std
    return np.ascontiguousarray(normalised.transpose(2, 0, 1), dtype=np.float32)


def _framed(picture: Image.Image, recipe: Preprocessing) -> Image.Image:
    resample, size, short_side = _FILTERS[recipe.interpolation], recipe.size, recipe.short_side
    match recipe.framing:
        case Framing.STRETCH:
            return _centre(picture.resize((short_side, short_side), resample), size)
        case Framing.CROP_THEN_RESIZE:
            side = round(min(picture.size) * size / short_side)
            return _centre(picture, max(side, 1)).resize((size, size), resample)
        case Framing.RESIZE_THEN_CROP:
            shortest = min(picture.size)
            # the longer side is cut down to a whole number, as torchvision does
            width, height = (short_side * length // shortest for length in picture.size)
            if width * height > _MOST_PIXELS:
                return _centre_of_resized(picture, (width, height), size, resample)
            return _centre(picture.resize((width, height), resample), size)


def _centre(picture: Image.Image, side: int) -> Image.Image:
    """The central square; half a pixel too many goes to the upper left, rounded as torchvision rounds it."""
    left, top = _corner(picture.size, side)
    return picture.crop((left, top, left + side, top + side))


def _centre_of_resized(
    picture: Image.Image, resized: tuple[int, int], side: int, resample: Image.Resampling
) -> Image.Image:
    """The central square of a resized picture without the rest, which for a long and narrow one fills the memory."""
    left, top = _corner(resized, side)
    across, down = picture.width / resized[0], picture.height / resized[1]
    right, bottom = min((left + side) * across, picture.width), min((top + side) * down, picture.height)
    return picture.resize((side, side), resample, box=(left * across, top * down, right, bottom))


def _corner(outer: tuple[int, int], side: int) -> tuple[int, int]:
    return round((outer[0] - side) / 2), round((outer[1] - side) / 2)
