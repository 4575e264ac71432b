"""JPEGs decoded, cropped and resized on a GPU."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from regrade.core.model_spec import Interpolation, Preprocessing
from regrade.models.preprocess import MAX_PIXELS, compute_crop, crop_and_resize_on_gpu
from regrade.models.torchvision_model import decode_jpegs_on_gpu

_START_MARKER, _END_MARKER = b"\xff\xd8", b"\xff\xd9"
_ORIENTATION = 0x0112  # EXIF tag


def gpu_can_decode(data: bytes, preprocessing: Preprocessing, *, upright: bool) -> bool:
    """Whether a GPU decodes and preprocesses an image as a CPU would.

    That is a complete JPEG, grayscale or RGB, without an EXIF orientation to apply (``upright``), with a preprocessing
    that a GPU can carry out.
    """
    if preprocessing.channels != 3 or preprocessing.interpolation is Interpolation.NEAREST:
        return False
    if not data.startswith(_START_MARKER) or not data.rstrip(b"\0").endswith(_END_MARKER):
        return False
    try:
        with Image.open(io.BytesIO(data)) as image:
            rotated = upright and image.getexif().get(_ORIENTATION, 1) != 1
            return image.format == "JPEG" and image.mode in ("RGB", "L") and not rotated
    except Exception:  # the parser raises many kinds of errors on damaged files
        return False


def decode_and_crop_jpegs(files: Sequence[bytes], preprocessing: Preprocessing, *, border: int) -> list[Any | None]:
    """Shape (size, size, 3) each: JPEGs decoded, cropped and resized on the GPU; None for those it cannot handle."""
    try:
        decoded: list[Any | None] = list(decode_jpegs_on_gpu(files)) if files else []
    except RuntimeError:
        decoded = [_decode_single(data) for data in files]
    return [None if image is None else _crop_and_resize(image, preprocessing, border) for image in decoded]


def _decode_single(data: bytes) -> Any | None:
    try:
        return decode_jpegs_on_gpu([data])[0]
    except RuntimeError:
        return None


def _crop_and_resize(image: Any, preprocessing: Preprocessing, border: int) -> Any | None:
    inner = image[:, border : image.shape[1] - border, border : image.shape[2] - border]
    if min(inner.shape) < 1 or compute_crop((inner.shape[2], inner.shape[1]), preprocessing).pixels > MAX_PIXELS:
        return None
    return crop_and_resize_on_gpu(inner, preprocessing)
