"""What a model's predictions depend on: its provenance, and the preprocessing of its input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from regrade.core.errors import InputError
from regrade.core.model_attributes import ModelAttributes


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's name, ``source:architecture.tag``, everything that its predictions depend on, and optional metadata.

    Unknown fields are empty or None; imported predictions often have only a name. ``code_hash`` covers the user's own
    code of a model, and ``code_note`` says which parts could not be hashed. The metadata are those of
    `ModelAttributes`.
    """

    name: str
    class_space: str
    preprocessing: str = ""
    weights_hash: str = ""
    training_data: str = ""
    code_hash: str = ""
    code_note: str = ""
    family: str = ""
    parameters: int | None = None
    training_images: int | None = None
    year: int | None = None
    base_model: str = ""

    def described(self, attributes: ModelAttributes, derived: ModelAttributes | None = None) -> ModelSpec:
        """The same model, with the stated attributes in place of its own, and the derived ones where it has none."""
        missing = {} if derived is None else {key: v for key, v in derived.stated.items() if not getattr(self, key)}
        return replace(self, **{**missing, **attributes.stated})


class Interpolation(Enum):
    """The interpolation used when an image is resized, always with anti-aliasing."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


class CropMode(Enum):
    """In which order an image is resized and cropped."""

    RESIZE_THEN_CROP = "resize the shorter side, then crop the center"
    CROP_THEN_RESIZE = "crop the central square, then resize it"
    STRETCH = "resize the whole image to a square, then crop the center"


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes a model's input of ``size`` x ``size`` pixels.

    ``short_side`` is the length of the shorter side after resizing, before the center is cropped. With
    `CropMode.CROP_THEN_RESIZE` the cropped square is size / short_side of the shorter side. ``mean`` and ``std`` are on
    the scale from 0 to 1, one value per channel; a single channel means grayscale.
    """

    size: int
    short_side: int
    crop_mode: CropMode = CropMode.RESIZE_THEN_CROP
    interpolation: Interpolation = Interpolation.BILINEAR
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.short_side:
            raise InputError(f"the crop size {self.size} must be between 1 and the shorter side, {self.short_side}")
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise InputError("mean and std need one value per channel: one for grayscale, three for color")
        if min(self.std) <= 0:
            raise InputError("std must be above 0")

    @property
    def channels(self) -> int:
        """1 for grayscale, 3 for color."""
        return len(self.mean)

    @property
    def summary(self) -> str:
        """The preprocessing in one line, as manifests record it."""
        numbers = "/".join(f"{m:.4g}" for m in self.mean), "/".join(f"{s:.4g}" for s in self.std)
        return (
            f"{self.crop_mode.value}: {self.short_side} to {self.size}, {self.interpolation.value}, "
            f"mean {numbers[0]}, std {numbers[1]}"
        )


IMAGENET = Preprocessing(224, 256)
"""The usual preprocessing of ImageNet models: shorter side 256, center crop 224, bilinear."""
