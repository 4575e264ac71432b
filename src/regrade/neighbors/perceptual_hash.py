"""A perceptual hash: the signs of a image's coarse waves, which survive packing, scaling and a change of light."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import FloatArray

_WAVES = 8  # along either side: 64 bits
_GRAY = (0.299, 0.587, 0.114)  # how bright red, green and blue look (ITU-R BT.601)


def perceptual_hashes(means: FloatArray) -> NDArray[np.uint64]:
    """Shape (2,): the 64-bit hashes of a image and of its mirror image, from its block means (32, 32, 3).

    A bit says whether one of the 8 x 8 lowest coefficients of the cosine transform of the gray image is above their
    median (Zauner 2010), the lowest waves in the highest bits. Mirroring turns the sign of every second wave across.
    """
    waves = _coefficients(means @ np.array(_GRAY))
    mirrored = waves * np.where(np.arange(_WAVES) % 2, -1, 1)
    bits = np.stack([one.ravel() > np.median(one) for one in (waves, mirrored)])
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64).ravel()


def hash_bits(hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Shape (n, 64): the bits of hashes (n,) as -1 and 1; their inner product is 64 less twice the distance."""
    octets = np.ascontiguousarray(hashes, dtype=">u8").view(np.uint8).reshape(-1, 8)
    return np.where(np.unpackbits(octets, axis=1), np.float32(1), np.float32(-1))


def _coefficients(gray: FloatArray) -> FloatArray:
    side = len(gray)
    angles = np.pi * np.outer(np.arange(_WAVES), 2 * np.arange(side) + 1) / (2 * side)
    waves = np.cos(angles)
    return np.round(waves @ gray @ waves.T, 6)  # what is zero by symmetry is zero, not noise
