"""Exact duplicates: a hash of decoded pixels, the same whatever the file was called or how it was packed."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

HASH_BYTES = 16
"""How long a hash of pixels is: two different images share one with a chance of 1 to 2 ** 128."""


def pixel_hash(pixels: NDArray[np.uint8]) -> bytes:
    """A hash of a image's size and its pixels (height, width, 3)."""
    state = hashlib.blake2b(f"{pixels.shape[0]} {pixels.shape[1]}\n".encode(), digest_size=HASH_BYTES)
    state.update(np.ascontiguousarray(pixels).data)
    return state.digest()
