"""Structural dissimilarity (DSSIM) of two images, over all windows at once by cumulative sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError
from regrade.core.arrays import FloatArray, IntArray

WINDOW = 35
"""Side length of the windows of SSIM (Recht et al. 2019)."""

_MAX_WINDOW = 256  # larger windows have sums of squares that do not fit into 32 bits
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # avoid division by zero in flat windows (Wang et al. 2004)


@dataclass(frozen=True, eq=False)
class WindowMoments:
    """An image with the sum, mean and variance of every window inside it, per channel."""

    pixels: IntArray
    window: int
    sums: IntArray
    means: FloatArray
    variances: FloatArray


def window_moments(pixels: NDArray[np.uint8], *, window: int = WINDOW) -> WindowMoments:
    """The window moments of an image (height, width, 3); computed once, they serve many comparisons."""
    if not 2 <= window <= min(*pixels.shape[:2], _MAX_WINDOW):
        raise InputError(f"a window of {window} does not fit an image of {pixels.shape[1]} x {pixels.shape[0]}")
    wide = np.ascontiguousarray(np.moveaxis(pixels, -1, 0), dtype=np.uint32)
    sums, squares, n = _window_sums(wide, window), _window_sums(wide * wide, window), window**2
    means = sums / n
    return WindowMoments(wide, window, sums, means, (squares - sums * means) / (n - 1))


def dssim(first: WindowMoments, second: WindowMoments) -> float:
    """(1 - SSIM) / 2 of two images of the same size: 0 for equal images, at most 1.

    SSIM is the mean over windows and channels, with uniform windows, sample covariances and the usual constants (Wang
    et al. 2004).
    """
    if first.pixels.shape != second.pixels.shape or first.window != second.window:
        raise InputError("two images must have the same size and the same window to be compared")
    products = _window_sums(first.pixels * second.pixels, first.window)
    covariance = (products - first.sums * second.means) / (first.window**2 - 1)
    ssim = (2 * first.means * second.means + _C1) * (2 * covariance + _C2)
    ssim /= (first.means**2 + second.means**2 + _C1) * (first.variances + second.variances + _C2)
    return float(min(max((1 - ssim.mean()) / 2, 0.0), 1.0))


def squared_difference(first: WindowMoments, second: WindowMoments) -> float:
    """The squared Euclidean distance of two images of the same size, over all pixels and channels."""
    difference = first.pixels.astype(np.float64) - second.pixels
    return float(np.vdot(difference, difference))


def _window_sums(values: IntArray, window: int) -> IntArray:
    """Exact sums over windows (c, h - window + 1, w - window + 1) of integers (c, h, w).

    Cumulative sums may overflow 32 bits and wrap around; the differences of two are still right.
    """
    total = np.zeros((values.shape[0], values.shape[1] + 1, values.shape[2] + 1), dtype=np.uint32)
    np.cumsum(values, axis=1, dtype=np.uint32, out=total[:, 1:, 1:])
    np.cumsum(total[:, 1:, 1:], axis=2, dtype=np.uint32, out=total[:, 1:, 1:])
    tall = total[:, window:] - total[:, :-window]
    return tall[:, :, window:] - tall[:, :, :-window]
