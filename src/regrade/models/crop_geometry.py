"""The crop and resize of an image, in pixel coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core.model_spec import CropMode, Preprocessing

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""

MAX_PIXELS = 1 << 25
"""Largest resized image; for one that is longer, only the part inside the crop is computed."""


@dataclass(frozen=True)
class CropGeometry:
    """Crop to ``crop_before`` unless it is None, resize to ``size`` (width, height), crop to ``crop_after``."""

    crop_before: Box | None
    size: tuple[int, int]
    crop_after: Box

    @property
    def pixels(self) -> int:
        """Number of pixels of the resized image."""
        return self.size[0] * self.size[1]


def compute_crop(image_size: tuple[int, int], preprocessing: Preprocessing) -> CropGeometry:
    """The crop and resize that a preprocessing applies to an image of a size (width, height)."""
    size, short_side = preprocessing.size, preprocessing.short_side
    match preprocessing.crop_mode:
        case CropMode.STRETCH:
            square = (short_side, short_side)
            return CropGeometry(None, square, _center(square, size))
        case CropMode.CROP_THEN_RESIZE:
            side = max(round(min(image_size) * size / short_side), 1)
            return CropGeometry(_center(image_size, side), (size, size), (0, 0, size, size))
        case CropMode.RESIZE_THEN_CROP:
            # the length of the longer side is rounded down, as torchvision does
            width, height = (short_side * length // min(image_size) for length in image_size)
            return CropGeometry(None, (width, height), _center((width, height), size))


def _center(outer: tuple[int, int], side: int) -> Box:
    """The central square; an offset of half a pixel is rounded as torchvision rounds it."""
    left, top = (round((length - side) / 2) for length in outer)
    return left, top, left + side, top + side
