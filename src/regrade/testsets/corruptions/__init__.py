"""The fifteen corruptions of ImageNet-C at five severities, as published (Hendrycks and Dietterich 2019)."""

from __future__ import annotations

import numpy as np

from regrade.core import InputError, UnknownName
from regrade.testsets.corruptions.pixels import Pixels

CORRUPTIONS = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow",
    "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
)  # fmt: skip
"""In the order of the paper."""

SEVERITIES = (1, 2, 3, 4, 5)
"""From slight to severe."""


def corrupt(pixels: Pixels, corruption: str, severity: int, rng: np.random.Generator) -> Pixels:
    """Apply a corruption of ImageNet-C to an image (h, w, 3); raise if the corruption or severity is unknown."""
    from regrade.testsets.corruptions.functions import FUNCTIONS

    check_corruption(corruption)
    check_severity(severity)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise InputError(f"an image must be uint8 of shape (height, width, 3), got {pixels.dtype} {pixels.shape}")
    return FUNCTIONS[corruption](pixels, severity, rng)


def check_corruption(name: str) -> None:
    """Raise if no corruption has this name; the error suggests similar names."""
    if name not in CORRUPTIONS:
        raise UnknownName("corruption", name, CORRUPTIONS)


def check_severity(severity: int) -> None:
    """Raise if a severity is not in `SEVERITIES`."""
    if severity not in SEVERITIES:
        raise InputError(f"the severity must be one of {', '.join(map(str, SEVERITIES))}, got {severity}")
