"""The fifteen corruptions of ImageNet-C at five severities, as published (Hendrycks and Dietterich 2019)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from regrade.core import InputError, UnknownName
from regrade.testsets.corruptions.pixels import Pixels

Corruption = Callable[[Pixels, int, np.random.Generator], Pixels]
"""A function of an image (h, w, 3), a severity and a random generator that returns the corrupted image."""

CORRUPTIONS = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow",
    "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
)  # fmt: skip
"""In the order of the paper."""

SEVERITIES = (1, 2, 3, 4, 5)
"""From slight to severe."""


def corrupt(pixels: Pixels, corruption: str, severity: int, rng: np.random.Generator) -> Pixels:
    """Apply a corruption of ImageNet-C to an image (h, w, 3); raise if the corruption or severity is unknown."""
    check_corruption(corruption)
    check_severity(severity)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise InputError(f"an image must be uint8 of shape (height, width, 3), got {pixels.dtype} {pixels.shape}")
    return corruption_functions()[corruption](pixels, severity, rng)


def check_corruption(name: str) -> None:
    """Raise if no corruption has this name; the error suggests similar names."""
    if name not in CORRUPTIONS:
        raise UnknownName("corruption", name, CORRUPTIONS)


def check_severity(severity: int) -> None:
    """Raise if a severity is not in `SEVERITIES`."""
    if severity not in SEVERITIES:
        raise InputError(f"the severity must be one of {', '.join(map(str, SEVERITIES))}, got {severity}")


@cache
def corruption_functions() -> Mapping[str, Corruption]:
    """The functions of all corruptions, by name."""
    from regrade.testsets.corruptions import blur, digital, pixels, weather  # they import scipy

    return MappingProxyType({
        "gaussian_noise": pixels.gaussian_noise,
        "shot_noise": pixels.shot_noise,
        "impulse_noise": pixels.impulse_noise,
        "defocus_blur": blur.defocus_blur,
        "glass_blur": blur.glass_blur,
        "motion_blur": blur.motion_blur,
        "zoom_blur": blur.zoom_blur,
        "snow": weather.snow,
        "frost": weather.frost,
        "fog": weather.fog,
        "brightness": weather.brightness,
        "contrast": digital.contrast,
        "elastic_transform": digital.elastic_transform,
        "pixelate": digital.pixelate,
        "jpeg_compression": digital.jpeg_compression,
    })  # fmt: skip
