"""The functions of all corruptions, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from regrade.testsets.corruptions import blur, digital, noise, weather
from regrade.testsets.corruptions.pixels import Pixels

Corruption = Callable[[Pixels, int, np.random.Generator], Pixels]
"""A function of an image (h, w, 3), a severity and a random generator that returns the corrupted image."""

FUNCTIONS: Mapping[str, Corruption] = MappingProxyType({
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
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
