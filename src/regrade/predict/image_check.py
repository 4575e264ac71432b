"""Check whether images are still those that were predicted: by size and modification time, then by content."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from regrade.core import UNKNOWN_STAMP, Fingerprints, Images, ImageSource, StoredImage, UnreadableImage
from regrade.core.arrays import IntArray
from regrade.testsets import content_hash, decode_gray_or_rgb

_BLOCK = 4096  # images at a time, to limit memory


def content_digest(image: StoredImage) -> int:
    """The first eight bytes of a hash of a stored image: enough to notice that it was replaced."""
    return int.from_bytes(content_hash(image)[:8], "little")


def is_readable(images: Images, source: ImageSource, position: int) -> bool:
    """Whether an image can be read and decoded."""
    try:
        decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
    except UnreadableImage:
        return False
    return True


def changed_images(
    images: Images, fingerprints: Fingerprints, positions: IntArray, *, first: int = 0, workers: int
) -> Iterator[int]:
    """The positions of images whose content differs from their fingerprints, which start at position ``first``.

    Only images whose file has another size or modification time than before, or an unknown one, are read. An
    unreadable image does not count as changed.
    """
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(positions), _BLOCK):
            pieces = np.array_split(positions[start : start + _BLOCK], workers)
            by_stamp = pool.map(lambda piece: _suspects(images, fingerprints, piece, first), pieces)
            suspects = np.concatenate(list(by_stamp)).tolist()
            digests = pool.map(lambda position: _digest_now(images, position), suspects)
            for position, digest in zip(suspects, digests, strict=True):
                if digest not in (None, int(fingerprints["digest"][position - first])):
                    yield position


def _suspects(images: Images, fingerprints: Fingerprints, positions: IntArray, first: int) -> IntArray:
    """The positions of images whose file may have changed: its stamp differs, or is not known."""
    now = np.array([images.stamp(position) or UNKNOWN_STAMP for position in positions.tolist()]).reshape(-1, 2)
    before = fingerprints[positions - first]
    same = (now[:, 0] == before["size"]) & (now[:, 1] == before["modified"])
    return positions[~same | (now == UNKNOWN_STAMP).all(axis=1)]


def _digest_now(images: Images, position: int) -> int | None:
    try:
        return content_digest(images.stored(position))
    except UnreadableImage:
        return None
