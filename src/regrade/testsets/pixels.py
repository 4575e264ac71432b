"""From the bytes of a picture to an array of its pixels; of plain JPEGs sooner, where simplejpeg is installed."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import Orientation, Picture
from regrade.testsets.decode import SILENCE, decode, turn_of

_JPEG = b"\xff\xd8\xff"  # what every JPEG begins with


def decode_pixels(
    picture: Picture, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0
) -> NDArray[np.uint8]:
    """Shape (height, width, 3): the pixels of what `decode` gives, the same ones whoever decodes."""
    plain = _plain_jpeg(picture, orientation) if isinstance(picture, bytes) and not border else None
    return np.asarray(decode(picture, orientation=orientation, border=border)) if plain is None else plain


def _plain_jpeg(data: bytes, orientation: Orientation) -> NDArray[np.uint8] | None:
    """The pixels of a JPEG in colours, upright and whole; None is for Pillow to see to."""
    decoder = _decoder()
    if decoder is None or not data.startswith(_JPEG):
        return None
    try:
        with SILENCE:
            image = Image.open(io.BytesIO(data))
            plain = image.format == "JPEG" and image.mode == "RGB"
            turned = plain and orientation is Orientation.UPRIGHT and turn_of(image) is not None
        return decoder(data) if plain and not turned else None
    except Exception:  # also damage that Pillow reads with a shrug; where it does not, it says why
        return None


@cache
def _decoder() -> Callable[[bytes], NDArray[np.uint8]] | None:
    try:
        from simplejpeg import decode_jpeg
    except Exception:  # not there, or a build that does not fit its neighbours
        return None
    return lambda data: decode_jpeg(data, "RGB", fastdct=False, fastupsample=False, strict=True)
