"""Blur corruptions: defocus, frosted glass, motion and zoom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

from regrade.core.arrays import FloatArray, IntArray
from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit

_DISCS = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))  # radius of the disc, sigma of its edge
_GLASS = ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2))  # sigma, maximum displacement, iterations
_MOTIONS = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))  # radius, sigma
_ZOOMS = ((12, 0.01), (16, 0.01), (11, 0.02), (13, 0.02), (11, 0.03))  # number of zoom factors, and their step
_SMALL_DISC = 8


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


def zoomed(values: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    """Enlarge the center of (h, w) or (h, w, 3) by a factor of at least 1, with linear interpolation."""
    return _stretched(_stretched(values, factor, axis=0), factor, axis=1)


def _stretched(values: NDArray[np.float32], factor: float, *, axis: int) -> NDArray[np.float32]:
    length = values.shape[axis]
    kept = int(np.ceil(length / factor))
    enlarged = round(kept * factor)
    places = np.linspace(0, kept - 1, enlarged)[(enlarged - length) // 2 :][:length] + (length - kept) // 2
    below = np.minimum(places.astype(int), length - 2) if length > 1 else np.zeros(length, dtype=int)
    above = np.minimum(below + 1, length - 1)
    share = (places - below).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    first, second = np.take(values, below, axis=axis), np.take(values, above, axis=axis)
    return first + share * (second - first)


def defocus_blur(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Convolve with a disc."""
    return as_bytes(_filtered(as_unit(pixels), _disc(*_DISCS[severity - 1])))


def glass_blur(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Replace pixels by random neighbors, between two Gaussian blurs."""
    sigma, reach, rounds = _GLASS[severity - 1]
    moved = as_bytes(_softened(as_unit(pixels), sigma))
    height, width = pixels.shape[:2]
    for _ in range(rounds):
        offsets = rng.integers(-reach, reach, size=(2, max(height - 2 * reach, 0), max(width - 2 * reach, 0)))
        moved = moved.reshape(-1, 3)[origins((height, width), reach, offsets)].reshape(pixels.shape)
    return as_bytes(_softened(as_unit(moved), sigma))


def motion_blur(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """Motion blur at a random angle of up to 45 degrees."""
    radius, sigma = _MOTIONS[severity - 1]
    return as_bytes(motion_blurred(as_unit(pixels), radius=radius, sigma=sigma, angle=rng.uniform(-45, 45)))


def zoom_blur(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """The mean of the image and of several zoomed versions of it."""
    count, step = _ZOOMS[severity - 1]
    sharp = as_unit(pixels)
    views = sum(zoomed(sharp, 1 + step * number) for number in range(count))
    return as_bytes((sharp + views) / (count + 1))


def origins(shape: tuple[int, int], reach: int, offsets: IntArray) -> IntArray:
    """Shape (h * w,): the source pixel of each pixel if all copy a neighbor in turn, the last pixel first.

    ``offsets`` (2, ...) say how far down and right each pixel of the interior looks. One that looks at a pixel which
    has copied already gets what that one has: such chains are followed two links at a time.
    """
    height, width = shape
    interior = np.zeros(shape, dtype=bool)
    interior[reach + 1 : height - reach + 1, reach + 1 : width - reach + 1] = True
    inside = interior.ravel()
    places = np.arange(height * width)
    source = places.copy()
    source[inside] += offsets[0].ravel() * width + offsets[1].ravel()
    goes_on = inside & inside[source] & (source > places)
    while goes_on.any():
        linked = np.flatnonzero(goes_on)
        via = source[linked]
        source[linked], goes_on[linked] = source[via], goes_on[via]
    return source


def _softened(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    return ndimage.gaussian_filter(values, (sigma, sigma, 0), mode="nearest")


def _disc(radius: int, softness: float) -> FloatArray:
    """A disc-shaped kernel with an edge smoothed by a small Gaussian kernel.

    The square around it is mirrored meanwhile, so that the weights of a disc which touches it sum to a little more
    than 1: the released images were made so.
    """
    side, reach = (_SMALL_DISC, 1) if radius <= _SMALL_DISC else (radius, 2)
    places = np.arange(-side, side + 1)
    disc = (places[:, None] ** 2 + places**2 <= radius**2).astype(np.float64)
    disc /= disc.sum()
    taps = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * softness**2))
    for axis in (0, 1):
        disc = ndimage.correlate1d(disc, taps / taps.sum(), axis=axis, mode="mirror")
    return disc


def _filtered(values: NDArray[np.float32], kernel: FloatArray) -> NDArray[np.float32]:
    """Convolve an image with a kernel, with mirrored borders."""
    reach = len(kernel) // 2
    padded = np.pad(values, [(reach, reach), (reach, reach), (0, 0)], mode="reflect")
    size = [fft.next_fast_len(length, real=True) for length in padded.shape[:2]]
    spectrum = fft.rfft2(padded, size, axes=(0, 1)) * fft.rfft2(kernel.astype(np.float32), size)[..., None]
    whole = fft.irfft2(spectrum, size, axes=(0, 1))
    height, width = values.shape[:2]
    return whole[2 * reach : 2 * reach + height, 2 * reach : 2 * reach + width]
