"""Which part of a image a model sees, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core.preprocessing import Framing, Preprocessing

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""

MOST_PIXELS = 1 << 25
"""A image is not resized to more than this: of a long and narrow one only the part that is seen is."""


@dataclass(frozen=True)
class CropGeometry:
    """Crop to ``first`` if there is one, resize to ``size`` (width, height), crop to ``then``."""

    first: Box | None
    size: tuple[int, int]
    then: Box

    @property
    def pixels(self) -> int:
        """How many pixels the resized image has."""
        return self.size[0] * self.size[1]


def frame_of(image: tuple[int, int], recipe: Preprocessing) -> CropGeometry:
    """The frame that a recipe puts around a image (width, height)."""
    size, short_side = recipe.size, recipe.short_side
    match recipe.framing:
        case Framing.STRETCH:
            square = (short_side, short_side)
            return CropGeometry(None, square, _center(square, size))
        case Framing.CROP_THEN_RESIZE:
            side = max(round(min(image) * size / short_side), 1)
            return CropGeometry(_center(image, side), (size, size), (0, 0, size, size))
        case Framing.RESIZE_THEN_CROP:
            # the longer side is cut down to a whole number, as torchvision does
            width, height = (short_side * length // min(image) for length in image)
            return CropGeometry(None, (width, height), _center((width, height), size))


def _center(outer: tuple[int, int], side: int) -> Box:
    """The central square; half a pixel too many goes to the upper left, rounded as torchvision rounds it."""
    left, top = (round((length - side) / 2) for length in outer)
    return left, top, left + side, top + side
