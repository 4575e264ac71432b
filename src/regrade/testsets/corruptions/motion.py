"""Motion blur in one direction, as in ImageMagick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def motion_blurred(values: NDArray[np.float32], *, radius: int, sigma: float, angle: float) -> NDArray[np.float32]:
    """Replace each pixel of (h, w) or (h, w, 3) by a weighted mean along a ray at an angle in degrees.

    The ray goes from pixel to pixel for 2 radius + 1 steps; weights are one half of a normal curve. Beyond the edges
    the outermost pixels go on.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    down = np.ceil(steps * np.sin(np.deg2rad(angle)) - 0.5).astype(int)
    right = np.ceil(steps * np.cos(np.deg2rad(angle)) - 0.5).astype(int)
    reach = len(steps)
    padded = np.pad(values, [(reach, reach), (reach, reach), (0, 0)][: values.ndim], mode="edge")
    height, width = values.shape[:2]
    blurred = np.zeros_like(values)
    for weight, y, x in zip(weights.astype(np.float32), down + reach, right + reach, strict=True):
        blurred += weight * padded[y : y + height, x : x + width]
    return blurred
