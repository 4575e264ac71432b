"""From the bytes of a image to its pixels, as people see it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from regrade.core import Orientation, StoredImage, UnreadableImage
from regrade.testsets.silence import MutedWarnings

_DEEP_MODES = ("I", "I;16", "I;16L", "I;16B", "F")
_GRAY_MODES = ("1", "L", "LA")
_STRIP = 1 << 22  # pixels that are taken out of an image at a time
_PROGRAMS = ("EPS",)  # formats that Pillow hands to another program to run
_ORIENTATION = 0x0112  # the EXIF tag
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SILENCE = MutedWarnings()
"""Of large images Pillow still refuses the absurd, and odd notes of cameras do not matter."""


def decode(stored: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0) -> Image.Image:
    """A image as RGB, by its content whatever its file is called, ``border`` pixels cut off on every side.

    Gray and palette images become RGB, CMYK is converted, 16-bit gray is scaled to 8, of an animation the first
    frame is taken. Damaged or unknown content, and more than 178,956,970 pixels, Pillow's limit, raise
    `UnreadableImage` with the reason.
    """
    image = decode_gray_or_rgb(stored, orientation=orientation, border=border)
    return image if image.mode == "RGB" else image.convert("RGB")


def decode_gray_or_rgb(
    stored: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0
) -> Image.Image:
    """As `decode`, but a gray image stays gray (mode L), a quarter of the memory: its RGB channels would be equal.

    Resized and then converted to RGB it is the same, since every channel is resized by itself.
    """
    image = _decoded(stored, orientation) if isinstance(stored, bytes) else _from_pixels(stored)
    if not border:
        return image
    if min(image.size) <= 2 * border:
        raise UnreadableImage(f"a image of {image.width} x {image.height} has nothing within a border of {border}")
    return image.crop((border, border, image.width - border, image.height - border))


def pixels_of(image: Image.Image) -> NDArray[Any]:
    """The pixels of an image; of a large one strip by strip, since Pillow makes two copies of what it gives."""
    if image.width * image.height <= _STRIP:
        return np.asarray(image)
    strips = _strips(image)
    first = next(strips)
    whole = np.empty((image.height, *first.shape[1:]), dtype=first.dtype)
    top = 0
    for rows in chain((first,), strips):
        whole[top : top + len(rows)] = rows
        top += len(rows)
    return whole


def _strips(image: Image.Image) -> Iterator[NDArray[Any]]:
    """The pixels of an image from top to bottom, some rows at a time."""
    rows = max(_STRIP // image.width, 1)
    for top in range(0, image.height, rows):
        yield np.asarray(image.crop((0, top, image.width, min(top + rows, image.height))))


def _decoded(content: bytes, orientation: Orientation) -> Image.Image:
    try:
        with SILENCE:
            image: Image.Image = Image.open(io.BytesIO(content))
            if image.format in _PROGRAMS:
                raise UnidentifiedImageError
            image.load()
            return _as_gray_or_rgb(_upright(image) if orientation is Orientation.UPRIGHT else image)
    except Exception as error:  # damage shows as whatever error the parser of a format has for it
        raise UnreadableImage(_reason(error, content)) from None


def turn_of(image: Image.Image) -> Image.Transpose | None:
    """How to turn a image as its EXIF note says; a note that makes no sense is none."""
    try:
        note = image.getexif().get(_ORIENTATION)
    except Exception:  # the image itself is whole
        return None
    return _TURNS.get(note) if isinstance(note, int) else None


def _upright(image: Image.Image) -> Image.Image:
    turn = turn_of(image)
    return image if turn is None else image.transpose(turn)


def _as_gray_or_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_MODES:
        return Image.fromarray(_as_bytes(image, _white(image)))
    if image.mode in _GRAY_MODES:
        return image if image.mode == "L" else image.convert("L")
    if image.mode in ("P", "PA") and "transparency" in image.info:
        image = image.convert("RGBA")  # Pillow warns where a palette's transparency is dropped at once
    return image if image.mode == "RGB" else image.convert("RGB")


def _white(image: Image.Image) -> float:
    """The value that stands for white: 16-bit formats say so, others are known by their largest value."""
    if image.mode.startswith("I;16") or image.format == "PPM":
        return 65535
    largest = max(float(np.nanmax(rows, initial=0)) for rows in _strips(image))
    if largest > 255:
        return 65535
    return 1 if image.mode == "F" and largest <= 1 else 255


def _as_bytes(image: Image.Image, white: float) -> NDArray[np.uint8]:
    """Shape (height, width): values from 0 to ``white`` on the scale of bytes, strip by strip: they are doubles."""
    whole = np.empty((image.height, image.width), dtype=np.uint8)
    top = 0
    for rows in _strips(image):
        numbers = np.nan_to_num(np.asarray(rows, dtype=np.float64)) * (255 / white)
        whole[top : top + len(rows)] = np.clip(np.round(numbers), 0, 255)
        top += len(rows)
    return whole


def _from_pixels(pixels: NDArray[np.uint8]) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise UnreadableImage(f"pixels must be bytes (height, width, 3), got {pixels.dtype} {pixels.shape}")
    if not pixels.size:
        raise UnreadableImage(f"there are no pixels in {pixels.shape}")
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(flat))


def _reason(error: Exception, data: bytes) -> str:
    if not data:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "not a image of a known format"
    if isinstance(error, Image.DecompressionBombError):
        pixels, limit = (f"{int(number):,}" for number in re.findall(r"\d+", str(error))[:2])
        return f"it has {pixels} pixels, and at most {limit} are decoded"
    if isinstance(error, MemoryError):
        return "there is not enough memory for its pixels"
    if isinstance(error, EOFError) or "truncated" in str(error):
        return "the file is truncated: it ends before its last pixel"
    return "its image data is damaged"
