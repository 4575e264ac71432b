"""JPEGs decoded and framed on a GPU."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from regrade.core.preprocessing import Interpolation, Preprocessing
from regrade.models.crop_geometry import MOST_PIXELS, frame_of
from regrade.models.torch_images import framed_on_gpu
from regrade.models.torchvision_model import jpegs_on_gpu

_BEGINNING, _END = b"\xff\xd8", b"\xff\xd9"
_ORIENTATION = 0x0112  # the EXIF tag


def is_for_gpu(data: bytes, recipe: Preprocessing, *, upright: bool) -> bool:
    """Whether a image is one that a GPU decodes as the usual way would.

    That is a whole JPEG, gray or RGB, that need not be turned, for a recipe that a GPU can carry out.
    """
    if recipe.channels != 3 or recipe.interpolation is Interpolation.NEAREST:
        return False
    if not data.startswith(_BEGINNING) or not data.rstrip(b"\0").endswith(_END):
        return False
    try:
        with Image.open(io.BytesIO(data)) as image:
            turned = upright and image.getexif().get(_ORIENTATION, 1) != 1
            return image.format == "JPEG" and image.mode in ("RGB", "L") and not turned
    except Exception:  # damage shows as whatever error the parser has for it
        return False


def framed_jpegs(files: Sequence[bytes], recipe: Preprocessing, *, border: int) -> list[Any | None]:
    """Shape (size, size, 3) each: what a model sees of JPEGs, on the GPU; None for one that is not for it after all."""
    try:
        decoded: list[Any | None] = list(jpegs_on_gpu(files)) if files else []
    except RuntimeError:
        decoded = [_alone(data) for data in files]
    return [None if image is None else _framed(image, recipe, border) for image in decoded]


def _alone(data: bytes) -> Any | None:
    try:
        return jpegs_on_gpu([data])[0]
    except RuntimeError:
        return None


def _framed(image: Any, recipe: Preprocessing, border: int) -> Any | None:
    inner = image[:, border : image.shape[1] - border, border : image.shape[2] - border]
    if min(inner.shape) < 1 or frame_of((inner.shape[2], inner.shape[1]), recipe).pixels > MOST_PIXELS:
        return None
    return framed_on_gpu(inner, recipe)
