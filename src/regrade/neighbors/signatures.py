"""Signatures: hashes and thumbnails, computed once per image, so that searches do not need the images.

The pixel hash finds exact duplicates: it does not depend on the file name or on lossless compression. The perceptual
hash finds near duplicates: it consists of signs of low-frequency DCT coefficients and is robust to compression, scaling
and brightness changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import InputError, Signatures, UnreadableImage
from regrade.core.arrays import FloatArray

THUMBNAIL = 16
"""Side length of the stored thumbnails."""

Decoded = NDArray[np.uint8] | UnreadableImage
"""An image's pixels (height, width, 3), or the error if it cannot be read."""

HASH_BYTES = 16
"""Length of a hash: two different images have the same hash with probability 2 ** -128."""

_FREQUENCIES = 8  # along either side: 64 bits
_LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue (ITU-R BT.601)
SIZE = 256
"""Side length to which images are scaled before they are compared (Recht et al. 2019)."""

SMALL_SIDE = 64
"""Images with fewer pixels than a square of this side are small: perceptual hash and DSSIM say little about them."""

GRAY_SIDE = 32
"""Side length of the input of a perceptual hash; a common size must be a multiple of it."""


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


def check_size(size: int) -> None:
    """Raise if images of this side length cannot be divided into blocks."""
    if size < GRAY_SIDE or size % GRAY_SIDE:
        raise InputError(f"the size at which images are compared must be a multiple of {GRAY_SIDE}, got {size}")


def scaled(pixels: NDArray[np.uint8], size: int = SIZE) -> NDArray[np.uint8]:
    """An image (height, width, 3) scaled to a square, whatever its aspect ratio."""
    if pixels.shape[:2] == (size, size):
        return pixels
    return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).resize((size, size), Image.Resampling.BILINEAR))


def block_means(square: NDArray[np.uint8], side: int) -> FloatArray:
    """Shape (side, side, 3): the means over equal blocks of an image (size, size, 3)."""
    block = square.shape[0] // side
    rows = square.reshape(side, block, -1).sum(axis=1, dtype=np.uint32)
    return rows.reshape(side, side, block, 3).sum(axis=2, dtype=np.uint32) / block**2
