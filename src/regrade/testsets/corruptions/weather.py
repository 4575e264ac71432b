"""Weather corruptions: snow, frost, fog and brightness; frost is generated, where ImageNet-C uses photographs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, spatial

from regrade.core.arrays import FloatArray
from regrade.testsets.corruptions.blur import motion_blurred, zoomed
from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit

_LEVELS = (0.45, 0.82)  # range of the mean gray level
_TINT = np.array([-0.07, 0.0, 0.05], dtype=np.float32)  # color shift towards blue
_RELIEFS = (0.4, 1.1)  # range of the contrast of crystals
_FEATHERS = (250, 1200)  # pixels per feather, for small and for large ones
_BARBS = 64  # number of distinct barbs along a feather
_BEND = 6.0  # displacement that bends feathers, in pixels
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


def plasma(side: int, decay: float, rng: np.random.Generator) -> FloatArray:
    """Heights (side, side) in 0 to 1 on a torus; ``side`` is a power of two of at least 2.

    At each halving of the grid new points are the mean of their four neighbors and a random step, uniform with a
    reach that falls by ``decay`` squared.
    """
    heights = np.zeros((side, side))
    step, reach = side, 1.0
    while step > 1:
        half = step // 2
        corners = heights[::step, ::step]
        above = corners + np.roll(corners, -1, axis=1)
        centers = (above + np.roll(above, -1, axis=0)) / 4 + rng.uniform(-reach, reach, corners.shape)
        below = np.roll(centers, 1, axis=0)
        left = np.roll(centers, 1, axis=1)
        under = corners + np.roll(corners, -1, axis=0)
        heights[half::step, half::step] = centers
        heights[::step, half::step] = (above + centers + below) / 4 + rng.uniform(-reach, reach, corners.shape)
        heights[half::step, ::step] = (under + centers + left) / 4 + rng.uniform(-reach, reach, corners.shape)
        step, reach = half, reach / decay**2
    heights -= heights.min()
    return heights / heights.max()


def frosted_pane(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float32]:
    """Colors (h, w, 3) in 0 to 1 of a frosted pane."""
    level, tint, relief = rng.uniform(*_LEVELS), rng.uniform(0.5, 2) * _TINT, rng.uniform(*_RELIEFS)
    bends = _BEND * np.array([_clouds(shape, rng) for _ in range(2)])
    places = (np.indices(shape) + bends).reshape(2, -1).T
    crystals = sum(_feathers(shape, places, area, rng) for area in _FEATHERS)
    cover = np.clip(0.9 + 3 * _clouds(shape, rng), 0, 2)  # some areas have no crystals
    grain = ndimage.gaussian_filter(rng.standard_normal(shape), 0.5)
    gray = level + relief * (0.06 * cover * crystals + 0.04 * grain) + 0.35 * _clouds(shape, rng)
    return np.clip(gray[..., None] + tint, 0, 1).astype(np.float32)


def _clouds(shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    side = 2 ** max(int(max(shape) - 1).bit_length(), 1)
    return plasma(side, 1.5, rng)[: shape[0], : shape[1]] - 0.5


def _feathers(shape: tuple[int, int], places: FloatArray, area: int, rng: np.random.Generator) -> FloatArray:
    """Crystals (h, w) with zero mean: each pixel belongs to the nearest seed, whose barbs branch off at an angle."""
    count = max(shape[0] * shape[1] // area, 2)
    seeds = rng.uniform((0, 0), shape, (count, 2))
    _, nearest = spatial.KDTree(seeds).query(places)
    angles = rng.uniform(0, 2 * np.pi, count)[nearest]
    down, right = (places - seeds[nearest]).T
    along = right * np.cos(angles) + down * np.sin(angles)
    across = np.abs(down * np.cos(angles) - right * np.sin(angles))
    place = (along - 0.7 * across) / 1.5 % _BARBS
    first = place.astype(int) % _BARBS
    share = place - np.floor(place)
    barbs = rng.standard_normal((count, _BARBS))
    barb = barbs[nearest, first] * (1 - share) + barbs[nearest, (first + 1) % _BARBS] * share
    crystals = (barb + 3 * np.exp(-across / 1.5)).reshape(shape)
    return crystals - crystals.mean()


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
