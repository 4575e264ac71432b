"""Tiles: images re-encoded to one size and one quality, so that a file does not tell where its image comes from.

Each tile is cropped by another small amount, so that an image in several tasks has another file in each.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from regrade.core import ImageSource, InputError, StoredImage
from regrade.testsets import decode_gray_or_rgb

BACKGROUND = (128, 128, 128)
"""The color around images that are not square: the same for all."""

SMALLEST, LARGEST = 16, 2048
"""The limits of the size of tiles, in pixels."""

LARGEST_CROP = 0.015
"""The largest part of the width or height that a tile lacks at one side of its image."""

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


@dataclass(frozen=True)
class TileCrop:
    """The parts of the width and height of an image that its tile lacks, at most `LARGEST_CROP` at each side."""

    left: float = 0.0
    top: float = 0.0
    right: float = 0.0
    bottom: float = 0.0

    @classmethod
    def of(cls, name: str) -> TileCrop:
        """The crop of a tile, which follows from its name alone, for candidates as for controls."""
        generator = np.random.default_rng(list(hashlib.sha256(name.encode()).digest()))
        return cls(*generator.uniform(0, LARGEST_CROP, 4).tolist())

    def box(self, image: Image.Image) -> tuple[float, float, float, float]:
        """The part of an image that is shown, in pixels and their fractions."""
        width, height = image.size
        return self.left * width, self.top * height, (1 - self.right) * width, (1 - self.bottom) * height


WHOLE_IMAGE = TileCrop()


def render_tile(
    stored: StoredImage, source: ImageSource, tile_format: TileFormat, crop: TileCrop = WHOLE_IMAGE
) -> bytes:
    """The tile of a stored image, decoded by the rules of its source; raise `UnreadableImage` if it cannot be."""
    return encode_tile(decode_for_tile(stored, source), tile_format, crop)


def decode_for_tile(stored: StoredImage, source: ImageSource) -> Image.Image:
    """A stored image in gray or RGB, upright or as stored and without its border, as its source says."""
    return decode_gray_or_rgb(stored, orientation=source.orientation, border=source.border)


def encode_tile(image: Image.Image, tile_format: TileFormat, crop: TileCrop = WHOLE_IMAGE) -> bytes:
    """A JPEG with the cropped image, fitted and centered on a square of the background color.

    Small images are enlarged. The file has no metadata; all tiles of a format begin with the same bytes, and nearly all
    have the same size.
    """
    side = tile_format.size
    left, top, right, bottom = crop.box(image)
    scale = side / max(right - left, bottom - top)
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    fitted = image.resize(size, box=(left, top, right, bottom))
    canvas = Image.new("RGB", (side, side), BACKGROUND)
    canvas.paste(fitted, ((side - fitted.width) // 2, (side - fitted.height) // 2))
    file = io.BytesIO()
    canvas.save(file, "JPEG", quality=tile_format.quality, subsampling="4:2:0", optimize=False, progressive=False)
    return _filled(file.getvalue(), tile_format.size**2 // 2)


def _filled(content: bytes, step: int) -> bytes:
    """A JPEG with a multiple of so many bytes, which most tiles need: fill bytes may precede any marker (ITU T.81)."""
    return content[: -len(_END_OF_IMAGE)] + b"\xff" * (-len(content) % step) + _END_OF_IMAGE


def _end_of_segment(content: bytes, place: int) -> int:
    """The position after the JPEG segment that begins at a position: a marker of two bytes, then its length."""
    return place + 2 + int.from_bytes(content[place + 2 : place + 4], "big")
