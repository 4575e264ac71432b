"""Signatures: computed once per image, so that searches do not need the images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, Signatures, UnreadableImage
from regrade.neighbors.hashes import HASH_BYTES, perceptual_hashes, pixel_hash
from regrade.neighbors.scaling import GRAY_SIDE, SIZE, block_means, check_size, scaled

THUMBNAIL = 16
"""Side length of the stored thumbnails."""

Decoded = NDArray[np.uint8] | UnreadableImage
"""An image's pixels (height, width, 3), or the error if it cannot be read."""


def compute_signatures(images: Iterable[Decoded], *, size: int = SIZE) -> Signatures:
    """The signatures of decoded images; unreadable images are kept with the reason."""
    check_size(size)
    pixel_hashes, phashes, thumbnails, areas = bytearray(), [], [], []
    unreadable: dict[int, str] = {}
    for position, decoded in enumerate(images):
        image = decoded
        if isinstance(image, UnreadableImage):
            unreadable[position] = str(image)
            image = np.zeros((1, 1, 3), dtype=np.uint8)
        _check_pixels(image)
        square = scaled(image, size)
        pixel_hashes += pixel_hash(image)
        phashes.append(perceptual_hashes(block_means(square, GRAY_SIDE)))
        thumbnails.append(np.rint(block_means(square, THUMBNAIL)).astype(np.uint8))
        areas.append(image.shape[0] * image.shape[1])
    return Signatures(
        size,
        np.frombuffer(bytes(pixel_hashes), dtype=np.uint8).reshape(-1, HASH_BYTES),
        np.array(phashes, dtype=np.uint64).reshape(-1, 2),
        np.array(thumbnails, dtype=np.uint8).reshape(-1, THUMBNAIL, THUMBNAIL, 3),
        np.array(areas, dtype=np.int64),
        unreadable,
    )


def _check_pixels(image: NDArray[np.uint8]) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(f"a decoded image must be bytes (height, width, 3), got {image.dtype} {image.shape}")
