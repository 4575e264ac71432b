"""Plasma fractal: a random height map by midpoint displacement, used for fog."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import FloatArray


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
