"""Signatures: what is computed once a picture, so that all searches go without the pictures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, Signatures, UnreadablePicture
from regrade.neighbours.perceptual_hash import perceptual_hashes
from regrade.neighbours.pixel_hash import HASH_BYTES, pixel_hash
from regrade.neighbours.scaling import GREY_SIDE, SIZE, block_means, check_size, scaled

THUMBNAIL = 16
"""The side of the thumbnails that are kept."""

Decoded = NDArray[np.uint8] | UnreadablePicture
"""A picture's pixels (height, width, 3), or the reason why there are none."""


def signatures(pictures: Iterable[Decoded], *, size: int = SIZE) -> Signatures:
    """The signatures of decoded pictures, taken one after another; unreadable ones are kept with their reason."""
    check_size(size)
    hashes, waves, thumbnails, areas = bytearray(), [], [], []
    unreadable: dict[int, str] = {}
    for position, decoded in enumerate(pictures):
        picture = decoded
        if isinstance(picture, UnreadablePicture):
            unreadable[position] = str(picture)
            picture = np.zeros((1, 1, 3), dtype=np.uint8)
        _check_pixels(picture)
        square = scaled(picture, size)
        hashes += pixel_hash(picture)
        waves.append(perceptual_hashes(block_means(square, GREY_SIDE)))
        thumbnails.append(np.rint(block_means(square, THUMBNAIL)).astype(np.uint8))
        areas.append(picture.shape[0] * picture.shape[1])
    return Signatures(
        size,
        np.frombuffer(bytes(hashes), dtype=np.uint8).reshape(-1, HASH_BYTES),
        np.array(waves, dtype=np.uint64).reshape(-1, 2),
        np.array(thumbnails, dtype=np.uint8).reshape(-1, THUMBNAIL, THUMBNAIL, 3),
        np.array(areas, dtype=np.int64),
        unreadable,
    )


def _check_pixels(picture: NDArray[np.uint8]) -> None:
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise InputError(f"a decoded picture is bytes (height, width, 3), got {picture.dtype} {picture.shape}")
