"""Exact duplicates: a hash of decoded pixels, independent of the file name and of lossless compression."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

HASH_BYTES = 16
"""Length of a hash: two different images have the same hash with probability 2 ** -128."""


def pixel_hash(pixels: NDArray[np.uint8]) -> bytes:
    """Hash an image's size and its pixels (height, width, 3)."""
    state = hashlib.blake2b(f"{pixels.shape[0]} {pixels.shape[1]}\n".encode(), digest_size=HASH_BYTES)
    state.update(np.ascontiguousarray(pixels).data)
    return state.digest()
