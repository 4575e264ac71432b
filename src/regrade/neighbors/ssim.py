"""Structural dissimilarity of two images, over all windows at once by running sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError
from regrade.core.arrays import FloatArray, IntArray

WINDOW = 35
"""The side of the windows of SSIM (Recht et al. 2019)."""

_LARGEST = 256  # the side of a window whose sums of squares fit into 32 bits
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # keep flat windows from a division by nothing (Wang et al. 2004)


@dataclass(frozen=True, eq=False)
class WindowMoments:
    """A image with the sum, mean and variance of every window that lies wholly inside it, channel by channel."""

    pixels: IntArray
    window: int
    sums: IntArray
    means: FloatArray
    variances: FloatArray


def window_moments(pixels: NDArray[np.uint8], *, window: int = WINDOW) -> WindowMoments:
    """What `dssim` needs to know of one image (height, width, 3); computed once, it serves many comparisons."""
    if not 2 <= window <= min(*pixels.shape[:2], _LARGEST):
        raise InputError(f"a window of {window} does not fit a image of {pixels.shape[1]} x {pixels.shape[0]}")
    wide = np.ascontiguousarray(np.moveaxis(pixels, -1, 0), dtype=np.uint32)
    sums, squares, n = _window_sums(wide, window), _window_sums(wide * wide, window), window**2
    means = sums / n
    return WindowMoments(wide, window, sums, means, (squares - sums * means) / (n - 1))


def dssim(first: WindowMoments, second: WindowMoments) -> float:
    """(1 - SSIM) / 2 of two images of one size: 0 for the same, at most 1.

    SSIM is the mean over windows and channels, windows weighted evenly, with sample covariances and the usual
    constants (Wang et al. 2004).
    """
    if first.pixels.shape != second.pixels.shape or first.window != second.window:
        raise InputError("two images are compared at one size, with one window")
    products = _window_sums(first.pixels * second.pixels, first.window)
    covariance = (products - first.sums * second.means) / (first.window**2 - 1)
    similar = (2 * first.means * second.means + _C1) * (2 * covariance + _C2)
    similar /= (first.means**2 + second.means**2 + _C1) * (first.variances + second.variances + _C2)
    return float(min(max((1 - similar.mean()) / 2, 0.0), 1.0))


def squared_difference(first: WindowMoments, second: WindowMoments) -> float:
    """The squared Euclidean distance of two images of one size, over all pixels and channels."""
    difference = first.pixels.astype(np.float64) - second.pixels
    return float(np.vdot(difference, difference))


def _window_sums(values: IntArray, window: int) -> IntArray:
    """Sums over windows (c, h - window + 1, w - window + 1) of whole numbers (c, h, w): exact.

    Running sums may go beyond 32 bits, where they begin again at 0; the difference of two is right all the same.
    """
    total = np.zeros((values.shape[0], values.shape[1] + 1, values.shape[2] + 1), dtype=np.uint32)
    np.cumsum(values, axis=1, dtype=np.uint32, out=total[:, 1:, 1:])
    np.cumsum(total[:, 1:, 1:], axis=2, dtype=np.uint32, out=total[:, 1:, 1:])
    tall = total[:, window:] - total[:, :-window]
    return tall[:, :, window:] - tall[:, :, :-window]
