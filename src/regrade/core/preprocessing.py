"""From a image to a model's input: the recipe, which is part of every result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regrade.core.errors import InputError


class Interpolation(Enum):
    """How pixels in between are found when a image is resized; always with anti-aliasing."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


class Framing(Enum):
    """Which part of a image the model sees."""

    RESIZE_THEN_CROP = "resize the shorter side, then crop the center"
    CROP_THEN_RESIZE = "crop the central square, then resize it"
    STRETCH = "resize the whole image to a square, then crop the center"


@dataclass(frozen=True)
class Preprocessing:
    """How a image becomes a model's input of ``size`` x ``size`` pixels.

    ``short_side`` is what the shorter side is resized to before the center is cropped; cropping first, the square is
    size / short_side of the shorter side. ``mean`` and ``std`` are on the scale of 0 to 1, one value a channel; one
    channel means gray.
    """

    size: int
    short_side: int
    framing: Framing = Framing.RESIZE_THEN_CROP
    interpolation: Interpolation = Interpolation.BILINEAR
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.short_side:
            raise InputError(f"a crop of {self.size} does not fit into a shorter side of {self.short_side}")
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise InputError("mean and std need one value a channel: one for gray, three for color")
        if min(self.std) <= 0:
            raise InputError("std must be above 0")

    @property
    def channels(self) -> int:
        """1 for gray, 3 for color."""
        return len(self.mean)

    @property
    def recipe(self) -> str:
        """The recipe in one line, as manifests record it."""
        numbers = "/".join(f"{m:.4g}" for m in self.mean), "/".join(f"{s:.4g}" for s in self.std)
        return (
            f"{self.framing.value}: {self.short_side} to {self.size}, {self.interpolation.value}, "
            f"mean {numbers[0]}, std {numbers[1]}"
        )


IMAGENET = Preprocessing(224, 256)
"""The usual recipe of ImageNet models: shorter side 256, center 224, bilinear."""
