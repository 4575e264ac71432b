"""Digital corruptions: low contrast, pixelation and JPEG compression."""

from __future__ import annotations

import numpy as np
from PIL import Image

from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit, through_jpeg

_CONTRASTS = (0.4, 0.3, 0.2, 0.1, 0.05)
_SIZES = (0.6, 0.5, 0.4, 0.3, 0.25)
_QUALITIES = (25, 18, 15, 10, 7)


def contrast(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Scale values towards the mean of their channel."""
    values = as_unit(pixels)
    means = values.mean(axis=(0, 1))
    return as_bytes(means + _CONTRASTS[severity - 1] * (values - means))


def pixelate(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Downscale the image and enlarge it again."""
    height, width = pixels.shape[:2]
    size = [max(int(length * _SIZES[severity - 1]), 1) for length in (width, height)]
    small = Image.fromarray(pixels).resize((size[0], size[1]), Image.Resampling.BOX)
    return np.array(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Compress the image as a JPEG of low quality."""
    return through_jpeg(pixels, _QUALITIES[severity - 1])
