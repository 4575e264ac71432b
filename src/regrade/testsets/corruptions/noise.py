"""Noise corruptions: Gaussian noise, shot noise and impulse noise."""

from __future__ import annotations

import numpy as np

from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit

_SPREADS = (0.08, 0.12, 0.18, 0.26, 0.38)
_PHOTONS = (60, 25, 12, 5, 3)
_BROKEN = (0.03, 0.06, 0.09, 0.17, 0.27)


def gaussian_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Add Gaussian noise to every value."""
    noise = rng.standard_normal(pixels.shape, dtype=np.float32)
    return as_bytes(as_unit(pixels) + _SPREADS[severity - 1] * noise)


def shot_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Poisson noise: every value is a number of photons, few even for white."""
    white = _PHOTONS[severity - 1]
    return as_bytes(rng.poisson(as_unit(pixels) * white) / white)


def impulse_noise(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Replace a fraction of all values by black or white."""
    drawn = rng.random(pixels.shape, dtype=np.float32)
    share = _BROKEN[severity - 1]
    return np.where(drawn < share / 2, np.uint8(0), np.where(drawn < share, np.uint8(255), pixels))
