"""The sizes of images from their headers, without decoding a pixel."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from PIL import Image

from regrade.core import Images, ImageSource, Orientation, StoredImage, UnreadableImage
from regrade.core.cores import usable_cores
from regrade.testsets.decode import SILENCE, turn_of
from regrade.testsets.registry import open_images

_AHEAD = 64  # images read ahead per thread
_SIDEWAYS = frozenset(
    (
        Image.Transpose.TRANSPOSE,
        Image.Transpose.ROTATE_270,
        Image.Transpose.TRANSVERSE,
        Image.Transpose.ROTATE_90,
    )
)


@dataclass(frozen=True)
class ImageHeader:
    """Width and height in pixels as `decode` gives them, and the size of the file; None for pixels in an array."""

    width: int
    height: int
    file_bytes: int | None


def image_headers(source: ImageSource) -> Iterator[ImageHeader | None]:
    """The header of each image in order, read in several threads; None for images that cannot be read."""
    images, threads = open_images(source), usable_cores()

    def header(position: int) -> ImageHeader | None:
        return _header(images, position, source)

    with ThreadPoolExecutor(threads) as pool:
        step = _AHEAD * threads
        for start in range(0, len(source.locations), step):
            yield from pool.map(header, range(start, min(start + step, len(source.locations))))


def _header(images: Images, position: int, source: ImageSource) -> ImageHeader | None:
    try:
        stored = images.read(position)
    except UnreadableImage:
        return None
    size = _size(stored, source.orientation)
    if size is None or min(size) <= 2 * source.border:
        return None
    width, height = (side - 2 * source.border for side in size)
    return ImageHeader(width, height, len(stored) if isinstance(stored, bytes) else None)


def _size(stored: StoredImage, orientation: Orientation) -> tuple[int, int] | None:
    if not isinstance(stored, bytes):
        return stored.shape[1], stored.shape[0]
    try:
        with SILENCE, Image.open(io.BytesIO(stored)) as image:
            width, height = image.size
            # Pillow decodes a PNG to look for EXIF data after its pixels
            has_orientation = image.format != "PNG" or "exif" in image.info
            turn = turn_of(image) if orientation is Orientation.UPRIGHT and has_orientation else None
    except Exception:  # decoders raise many kinds of errors for damaged files
        return None
    return (height, width) if turn in _SIDEWAYS else (width, height)
