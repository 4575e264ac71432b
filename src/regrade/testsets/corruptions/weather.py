"""Weather corruptions: snow, frost, fog and brightness."""

from __future__ import annotations

import numpy as np

from regrade.testsets.corruptions.frost import frosted_pane
from regrade.testsets.corruptions.motion import motion_blurred
from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit
from regrade.testsets.corruptions.plasma import plasma
from regrade.testsets.corruptions.zoom import zoomed

_SNOW = (  # mean and std of the noise, zoom, threshold, radius and sigma of the motion blur, weight of the image
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)
_FROST = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))  # weight of the image, weight of the frost
_FOG = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))  # density, decay of the roughness
_LIGHT = (0.1, 0.2, 0.3, 0.4, 0.5)
_GRAY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def snow(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """A brightened image with motion-blurred snowflakes."""
    mean, spread, size, least, radius, sigma, clarity = _SNOW[severity - 1]
    sharp = as_unit(pixels)
    noise = rng.standard_normal(pixels.shape[:2], dtype=np.float32)
    flakes = zoomed(mean + spread * noise, size)
    flakes = np.where(flakes < least, np.float32(0), np.minimum(flakes, 1))
    flakes = motion_blurred(flakes, radius=int(radius), sigma=sigma, angle=rng.uniform(-135, -45))
    pale = np.maximum(sharp, (sharp * _GRAY).sum(axis=2, keepdims=True) * 1.5 + 0.5)
    return as_bytes(clarity * sharp + (1 - clarity) * pale + (flakes + np.rot90(flakes, 2))[..., None])


def frost(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Blend the image with generated ice crystals; the released images use photographs of frost."""
    kept, added = _FROST[severity - 1]
    return as_bytes(kept * as_unit(pixels) + added * frosted_pane((pixels.shape[0], pixels.shape[1]), rng))


def fog(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Blend the image with a plasma fractal."""
    thickness, decay = _FOG[severity - 1]
    sharp = as_unit(pixels)
    height, width = pixels.shape[:2]
    side = 2 ** max(int(max(height, width) - 1).bit_length(), 1)
    clouds = plasma(side, decay, rng)[:height, :width, None]
    brightest = float(sharp.max())
    return as_bytes((sharp + thickness * clouds) * (brightest / (brightest + thickness)))


def brightness(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Increase the value in HSV; hue and saturation stay the same."""
    more = _LIGHT[severity - 1]
    sharp = as_unit(pixels)
    value = sharp.max(axis=2, keepdims=True)
    # with fixed hue and saturation, all channels scale with the value; black has neither, and becomes gray
    lit = sharp * (np.minimum(value + more, 1) / np.maximum(value, 1 / 512))
    return as_bytes(np.where(value > 0, lit, more))
