"""Generated frost: feathers of ice that grow from random seeds; ImageNet-C uses photographs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, spatial

from regrade.core.arrays import FloatArray
from regrade.testsets.corruptions.plasma import plasma

_LEVELS = (0.45, 0.82)  # range of the mean gray level
_TINT = np.array([-0.07, 0.0, 0.05], dtype=np.float32)  # color shift towards blue
_RELIEFS = (0.4, 1.1)  # range of the contrast of crystals
_FEATHERS = (250, 1200)  # pixels per feather, for small and for large ones
_BARBS = 64  # number of distinct barbs along a feather
_BEND = 6.0  # displacement that bends feathers, in pixels


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
