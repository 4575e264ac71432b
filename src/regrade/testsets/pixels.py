"""Decode stored images to arrays of pixels; plain JPEGs are decoded faster if simplejpeg is installed."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import Orientation, StoredImage
from regrade.testsets.decode import SILENCE, decode_gray_or_rgb, pixels_of, turn_of

_JPEG = b"\xff\xd8\xff"  # the first bytes of every JPEG


def decode_pixels(
    image: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0
) -> NDArray[np.uint8]:
    """The pixels of `decode_gray_or_rgb`, of shape (height, width, 3), or (height, width) for gray images.

    The result is the same with and without simplejpeg.
    """
    plain = _plain_jpeg(image, orientation) if isinstance(image, bytes) and not border else None
    return plain if plain is not None else _by_pillow(image, orientation, border)


def _by_pillow(image: StoredImage, orientation: Orientation, border: int) -> NDArray[np.uint8]:
    return pixels_of(decode_gray_or_rgb(image, orientation=orientation, border=border))


def _plain_jpeg(data: bytes, orientation: Orientation) -> NDArray[np.uint8] | None:
    """The pixels of an undamaged RGB JPEG that needs no rotation; None if Pillow has to decode it."""
    decoder = _decoder()
    if decoder is None or not data.startswith(_JPEG):
        return None
    try:
        with SILENCE:
            image = Image.open(io.BytesIO(data))
            plain = image.format == "JPEG" and image.mode == "RGB"
            turned = plain and orientation is Orientation.UPRIGHT and turn_of(image) is not None
        return decoder(data) if plain and not turned else None
    except Exception:  # damaged: Pillow decodes it or gives the reason why not
        return None


@cache
def _decoder() -> Callable[[bytes], NDArray[np.uint8]] | None:
    try:
        from simplejpeg import decode_jpeg
    except Exception:  # not installed, or incompatible with the installed NumPy
        return None
    return lambda data: decode_jpeg(data, "RGB", fastdct=False, fastupsample=False, strict=True)
