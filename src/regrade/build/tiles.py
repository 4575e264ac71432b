"""Tiles: images re-encoded to one size and one quality, so that a file does not tell where its image comes from."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property

from PIL import Image

from regrade.core import ImageSource, InputError, StoredImage
from regrade.testsets import decode_gray_or_rgb

BACKGROUND = (128, 128, 128)
"""The color around images that are not square: the same for all."""

SMALLEST, LARGEST = 16, 2048
"""The limits of the size of tiles, in pixels."""

_START_OF_SCAN = b"\xff\xda"
_END_OF_IMAGE = b"\xff\xd9"


@dataclass(frozen=True)
class TileFormat:
    """The format of all tiles of a build: the side of the square in pixels, and the JPEG quality."""

    size: int = 256
    quality: int = 90

    def __post_init__(self) -> None:
        if not SMALLEST <= self.size <= LARGEST:
            raise InputError(f"the size of tiles must be from {SMALLEST} to {LARGEST} pixels, got {self.size}")
        if not 1 <= self.quality <= 100:
            raise InputError(f"the JPEG quality of tiles must be from 1 to 100, got {self.quality}")

    @cached_property
    def header(self) -> bytes:
        """The first bytes of every tile, up to its compressed pixels: dimensions and all tables."""
        content = encode_tile(Image.new("RGB", (1, 1)), self)
        place = 2
        while content[place : place + 2] != _START_OF_SCAN:
            place = _end_of_segment(content, place)
        return content[: _end_of_segment(content, place)]

    def is_complete(self, content: bytes) -> bool:
        """Whether the content of a file begins and ends as a tile of this format."""
        return content.startswith(self.header) and content.endswith(_END_OF_IMAGE)

    def enlarges(self, image: Image.Image) -> bool:
        """Whether an image has fewer pixels than its tile, which may look blurred."""
        return max(image.size) < self.size


def render_tile(stored: StoredImage, source: ImageSource, tile_format: TileFormat) -> bytes:
    """The tile of a stored image, decoded by the rules of its source; raise `UnreadableImage` if it cannot be."""
    return encode_tile(decode_for_tile(stored, source), tile_format)


def decode_for_tile(stored: StoredImage, source: ImageSource) -> Image.Image:
    """A stored image in gray or RGB, upright or as stored and without its border, as its source says."""
    return decode_gray_or_rgb(stored, orientation=source.orientation, border=source.border)


def encode_tile(image: Image.Image, tile_format: TileFormat) -> bytes:
    """A JPEG with the whole image, fitted and centered on a square of the background color.

    Small images are enlarged. The file has no metadata; all tiles of a format begin with the same bytes.
    """
    side = tile_format.size
    scale = side / max(image.size)
    fitted = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    canvas = Image.new("RGB", (side, side), BACKGROUND)
    canvas.paste(fitted, ((side - fitted.width) // 2, (side - fitted.height) // 2))
    file = io.BytesIO()
    canvas.save(file, "JPEG", quality=tile_format.quality, subsampling="4:2:0", optimize=False, progressive=False)
    return file.getvalue()


def _end_of_segment(content: bytes, place: int) -> int:
    """The position after the JPEG segment that begins at a position: a marker of two bytes, then its length."""
    return place + 2 + int.from_bytes(content[place + 2 : place + 4], "big")
