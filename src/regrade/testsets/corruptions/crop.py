"""The center crop that ImageNet-C uses."""

from __future__ import annotations

import numpy as np
from PIL import Image

from regrade.testsets.corruptions.pixels import Pixels

_SHORT_SIDE, _SIDE = 256, 224


def center(image: Image.Image) -> Pixels:
    """Resize the shorter side to 256 (bilinear) and crop the central 224 x 224 pixels, as in ImageNet-C."""
    shortest = min(image.size)
    width, height = (_SHORT_SIDE * length // shortest for length in image.size)
    left, top = round((width - _SIDE) / 2), round((height - _SIDE) / 2)
    resized = image.resize((width, height), Image.Resampling.BILINEAR)
    return np.array(resized.crop((left, top, left + _SIDE, top + _SIDE)))
