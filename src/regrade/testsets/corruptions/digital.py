"""Digital corruptions: low contrast, elastic transform, pixelation and JPEG compression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import fft, ndimage

from regrade.core.arrays import FloatArray
from regrade.testsets.corruptions.pixels import Pixels, as_bytes, as_unit, through_jpeg

_CONTRASTS = (0.4, 0.3, 0.2, 0.1, 0.05)
_SIZES = (0.6, 0.5, 0.4, 0.3, 0.25)
_QUALITIES = (25, 18, 15, 10, 7)
_RUBBER = ((488, 170.8, 24.4), (488, 19.52, 48.8), (12.2, 2.44, 4.88), (17.08, 2.44, 4.88), (29.28, 2.44, 4.88))
_TRUNCATED = 3  # standard deviations


def contrast(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Scale values towards the mean of their channel."""
    values = as_unit(pixels)
    means = values.mean(axis=(0, 1))
    return as_bytes(means + _CONTRASTS[severity - 1] * (values - means))


def pixelate(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Downscale the image and enlarge it again."""
    height, width = pixels.shape[:2]
    size = [max(int(length * _SIZES[severity - 1]), 1) for length in (width, height)]
    small = Image.fromarray(pixels).resize((size[0], size[1]), Image.Resampling.BOX)
    return np.array(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:  # noqa: ARG001
    """Compress the image as a JPEG of low quality."""
    return through_jpeg(pixels, _QUALITIES[severity - 1])


# amplitude and smoothness of the displacement, and range of the three points of the affine map; in pixels


def elastic_transform(pixels: Pixels, severity: int, rng: np.random.Generator) -> Pixels:
    """A random affine map, then a smooth random displacement."""
    strength, smoothness, pull = _RUBBER[severity - 1]
    values = as_unit(pixels)
    height, width = pixels.shape[:2]
    grid = np.indices((height, width), dtype=np.float64)
    pulled = _sampled(values, _pulled(grid, pull, rng), mode="mirror")
    moves = [strength * smoothed(rng.uniform(-1, 1, (height, width)), smoothness) for _ in range(2)]
    return as_bytes(_sampled(pulled, grid + np.array(moves), mode="reflect"))


def smoothed(values: FloatArray, sigma: float) -> FloatArray:
    """Gaussian filter of an array (h, w) with reflected borders; its run time does not depend on sigma.

    Such a filter only scales the terms of a cosine transform.
    """
    spectrum = fft.dctn(values, type=2, norm="ortho")
    for axis in (0, 1):
        spectrum = spectrum * _response(sigma, values.shape[axis]).reshape((-1, 1) if axis == 0 else (1, -1))
    return fft.idctn(spectrum, type=2, norm="ortho")


def _response(sigma: float, length: int) -> FloatArray:
    """Shape (length,): the factor by which a truncated Gaussian scales each frequency."""
    taps = np.arange(1, int(_TRUNCATED * sigma + 0.5) + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    waves = np.cos(np.pi * np.outer(np.arange(length), taps) / length)
    return (1 + 2 * waves @ weights) / (1 + 2 * weights.sum())


def _pulled(grid: FloatArray, pull: float, rng: np.random.Generator) -> FloatArray:
    """The source coordinates of each pixel under the affine map that moves three points at random."""
    center = np.array(grid.shape[1:]) // 2
    arm = max(min(grid.shape[1:]) // 3, 1)
    points = center + arm * np.array([[1, 1], [1, -1], [-1, -1]])
    moved = np.column_stack([points + rng.uniform(-pull, pull, points.shape), np.ones(3)])
    back = np.linalg.solve(moved, points).T  # from moved points back to the original ones
    return np.tensordot(back[:, :2], grid, axes=1) + back[:, 2, None, None]


def _sampled(values: NDArray[np.float32], places: FloatArray, *, mode: str) -> NDArray[np.float32]:
    channels = [ndimage.map_coordinates(values[..., c], places, order=1, mode=mode) for c in range(values.shape[2])]
    return np.stack(channels, axis=-1)
