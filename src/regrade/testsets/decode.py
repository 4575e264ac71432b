"""From the bytes of a picture to its pixels, as people see it."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from regrade.core import Orientation, Picture, UnreadablePicture
from regrade.testsets.silence import Silence

_DEEP_MODES = ("I", "I;16", "I;16L", "I;16B", "F")
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
SILENCE = Silence()
"""Of large pictures Pillow still refuses the absurd, and odd notes of cameras do not matter."""


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
        with SILENCE:
            image: Image.Image = Image.open(io.BytesIO(picture))
            if image.format in _PROGRAMS:
                raise UnidentifiedImageError
            image.load()
            return _as_rgb(_upright(image) if orientation is Orientation.UPRIGHT else image)
    except Exception as error:  # damage shows as whatever error the parser of a format has for it
        raise UnreadablePicture(_reason(error, picture)) from None


def turn_of(image: Image.Image) -> Image.Transpose | None:
    """How to turn a picture as its EXIF note says; a note that makes no sense is none."""
    try:
        note = image.getexif().get(_ORIENTATION)
    except Exception:  # the picture itself is whole
        return None
    return _TURNS.get(note) if isinstance(note, int) else None


def _upright(image: Image.Image) -> Image.Image:
    turn = turn_of(image)
    return image if turn is None else image.transpose(turn)


def _as_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_MODES:
        return Image.fromarray(_scaled_to_bytes(np.asarray(image), _depth(image))).convert("RGB")
    if image.mode in ("P", "PA") and "transparency" in image.info:
        image = image.convert("RGBA")  # Pillow warns where a palette's transparency is dropped at once
    return image if image.mode == "RGB" else image.convert("RGB")


def _depth(image: Image.Image) -> float:
    """The value that stands for white: 16-bit formats say so, others are known by their largest value."""
    if image.mode.startswith("I;16") or image.format == "PPM":
        return 65535
    largest = np.nanmax(np.asarray(image), initial=0)
    if largest > 255:
        return 65535
    return 1 if image.mode == "F" and largest <= 1 else 255


def _scaled_to_bytes(values: NDArray[np.generic], white: float) -> NDArray[np.uint8]:
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64)) * (255 / white)
    return np.clip(np.round(numbers), 0, 255).astype(np.uint8)


def _from_pixels(pixels: NDArray[np.uint8]) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise UnreadablePicture(f"pixels must be bytes (height, width, 3), got {pixels.dtype} {pixels.shape}")
    if not pixels.size:
        raise UnreadablePicture(f"there are no pixels in {pixels.shape}")
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(flat)).convert("RGB")


def _reason(error: Exception, data: bytes) -> str:
    if not data:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "not a picture of a known format"
    return str(error).partition("\n")[0] or f"damaged ({type(error).__name__})"
