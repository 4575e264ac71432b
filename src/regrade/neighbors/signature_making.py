"""Signatures: what is computed once a image, so that all searches go without the images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, Signatures, UnreadableImage
from regrade.neighbors.perceptual_hash import perceptual_hashes
from regrade.neighbors.pixel_hash import HASH_BYTES, pixel_hash
from regrade.neighbors.scaling import GRAY_SIDE, SIZE, block_means, check_size, scaled

THUMBNAIL = 16
"""The side of the thumbnails that are kept."""

Decoded = NDArray[np.uint8] | UnreadableImage
"""A image's pixels (height, width, 3), or the reason why there are none."""


def signatures(images: Iterable[Decoded], *, size: int = SIZE) -> Signatures:
    """The signatures of decoded images, taken one after another; unreadable ones are kept with their reason."""
    check_size(size)
    hashes, waves, thumbnails, areas = bytearray(), [], [], []
    unreadable: dict[int, str] = {}
    for position, decoded in enumerate(images):
        image = decoded
        if isinstance(image, UnreadableImage):
            unreadable[position] = str(image)
            image = np.zeros((1, 1, 3), dtype=np.uint8)
        _check_pixels(image)
        square = scaled(image, size)
        hashes += pixel_hash(image)
        waves.append(perceptual_hashes(block_means(square, GRAY_SIDE)))
        thumbnails.append(np.rint(block_means(square, THUMBNAIL)).astype(np.uint8))
        areas.append(image.shape[0] * image.shape[1])
    return Signatures(
        size,
        np.frombuffer(bytes(hashes), dtype=np.uint8).reshape(-1, HASH_BYTES),
        np.array(waves, dtype=np.uint64).reshape(-1, 2),
        np.array(thumbnails, dtype=np.uint8).reshape(-1, THUMBNAIL, THUMBNAIL, 3),
        np.array(areas, dtype=np.int64),
        unreadable,
    )


def _check_pixels(image: NDArray[np.uint8]) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(f"a decoded image is bytes (height, width, 3), got {image.dtype} {image.shape}")
