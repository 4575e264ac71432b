"""Hashes of images: of the decoded pixels for exact duplicates, and a perceptual hash for near duplicates.

The pixel hash does not depend on the file name or on lossless compression. The perceptual hash consists of signs of
low-frequency DCT coefficients and is robust to compression, scaling and brightness changes.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import FloatArray

HASH_BYTES = 16
"""Length of a hash: two different images have the same hash with probability 2 ** -128."""

_FREQUENCIES = 8  # along either side: 64 bits
_LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue (ITU-R BT.601)


def pixel_hash(pixels: NDArray[np.uint8]) -> bytes:
    """Hash an image's size and its pixels (height, width, 3)."""
    state = hashlib.blake2b(f"{pixels.shape[0]} {pixels.shape[1]}\n".encode(), digest_size=HASH_BYTES)
    state.update(np.ascontiguousarray(pixels).data)
    return state.digest()


def perceptual_hashes(means: FloatArray) -> NDArray[np.uint64]:
    """Shape (2,): the 64-bit hashes of an image and of its mirror image, from its block means (32, 32, 3).

    A bit says whether one of the 8 x 8 lowest coefficients of the cosine transform of the grayscale image is above
    their median (Zauner 2010), the lowest frequencies in the highest bits. Mirroring flips the sign of every second
    horizontal frequency.
    """
    coefficients = _coefficients(means @ np.array(_LUMA))
    mirrored = coefficients * np.where(np.arange(_FREQUENCIES) % 2, -1, 1)
    bits = np.stack([values.ravel() > np.median(values) for values in (coefficients, mirrored)])
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64).ravel()


def hash_bits(hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Shape (n, 64): the bits of hashes (n,) as -1 and 1; the inner product of two is 64 - 2 x Hamming distance."""
    octets = np.ascontiguousarray(hashes, dtype=">u8").view(np.uint8).reshape(-1, 8)
    return np.where(np.unpackbits(octets, axis=1), np.float32(1), np.float32(-1))


def _coefficients(gray: FloatArray) -> FloatArray:
    side = len(gray)
    angles = np.pi * np.outer(np.arange(_FREQUENCIES), 2 * np.arange(side) + 1) / (2 * side)
    cosines = np.cos(angles)
    return np.round(cosines @ gray @ cosines.T, 6)  # coefficients that are zero by symmetry become exactly zero
