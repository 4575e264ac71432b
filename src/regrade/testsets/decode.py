"""From the bytes of a picture to its pixels, as people see it."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from regrade.core import Orientation, Picture, UnreadablePicture

_DEEP_MODES = ("I", "I;16", "I;16L", "I;16B", "F")


def decode(picture: Picture, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0) -> Image.Image:
    """A picture as RGB, by its content whatever its file is called, ``border`` pixels cut off on every side.

    Grey and palette pictures become RGB, CMYK is converted, 16-bit grey is scaled to 8, of an animation the first
    frame is taken. Damaged or unknown content raises `UnreadablePicture` with the reason.
    """
    image = _decoded(picture, orientation) if isinstance(picture, bytes) else _from_pixels(picture)
    if not border:
        return image
    if min(image.size) <= 2 * border:
        raise UnreadablePicture(f"a picture of {image.width} x {image.height} has nothing within a border of {border}")
    return image.crop((border, border, image.width - border, image.height - border))


def _decoded(picture: bytes, orientation: Orientation) -> Image.Image:
    try:
        image: Image.Image = Image.open(io.BytesIO(picture))
        image.load()
        if orientation is Orientation.UPRIGHT:
            image = ImageOps.exif_transpose(image)
        return _as_rgb(image)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UnreadablePicture(_reason(error, picture)) from None


def _as_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_MODES:
        return Image.fromarray(_scaled_to_bytes(np.asarray(image))).convert("RGB")
    if image.mode in ("P", "PA") and "transparency" in image.info:
        image = image.convert("RGBA")  # Pillow warns where a palette's transparency is dropped at once
    return image if image.mode == "RGB" else image.convert("RGB")


def _scaled_to_bytes(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Deep grey values as bytes: 16-bit ones by their upper half, those that fit a byte as they are."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size and numbers.max() > 255:
        numbers = numbers / 257
    return np.clip(np.round(numbers), 0, 255).astype(np.uint8)


def _from_pixels(pixels: NDArray[np.uint8]) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise UnreadablePicture(f"pixels must be bytes (height, width, 3), got {pixels.dtype} {pixels.shape}")
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(flat)).convert("RGB")


def _reason(error: Exception, data: bytes) -> str:
    if not data:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "not a picture of a known format"
    return str(error).partition("\n")[0]
