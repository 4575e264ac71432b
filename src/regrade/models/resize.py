"""Resizing a picture with anti-aliasing: by Pillow, the reference, or faster by torch or on a GPU."""

from __future__ import annotations

import importlib.util
from enum import Enum
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.preprocessing import Interpolation
from regrade.models.torch_pictures import resize_by_torch

FILTERS = {
    Interpolation.NEAREST: Image.Resampling.NEAREST,
    Interpolation.BILINEAR: Image.Resampling.BILINEAR,
    Interpolation.BICUBIC: Image.Resampling.BICUBIC,
}
"""Pillow's names of the ways to find pixels in between."""


class Resizer(Enum):
    """What resizes pictures."""

    PILLOW = "pillow"
    """To the last bit what torchvision's transforms do on a Pillow picture."""

    TORCH = "torch"
    """Three to four times faster; within one grey level of Pillow on photographs, some more at edges in tall ones."""

    GPU = "gpu"
    """JPEGs are decoded on the GPU too, within a few grey levels of Pillow; other pictures go by torch."""

    @property
    def runtime(self) -> str:
        """What resizes, with its version, as manifests record it."""
        if self is Resizer.GPU:
            return f"nvjpeg of torchvision {version('torchvision')}"
        return f"{self.value} {version(self.value)}"


def fastest_resizer() -> Resizer:
    """The fastest there is without a GPU."""
    return Resizer.TORCH if importlib.util.find_spec("torch") else Resizer.PILLOW


def resize(
    picture: Image.Image | NDArray[np.uint8], size: tuple[int, int], interpolation: Interpolation, by: Resizer
) -> NDArray[np.uint8]:
    """Shape (height, width) or (height, width, 3): a grey or RGB picture at another size (width, height)."""
    if by is Resizer.PILLOW or interpolation is Interpolation.NEAREST or size_of(picture) == size:
        return np.asarray(as_image(picture).resize(size, FILTERS[interpolation]))
    return resize_by_torch(np.asarray(picture), size, interpolation.value)


def size_of(picture: Image.Image | NDArray[np.uint8]) -> tuple[int, int]:
    """Width and height."""
    return picture.size if isinstance(picture, Image.Image) else (picture.shape[1], picture.shape[0])


def as_image(picture: Image.Image | NDArray[np.uint8]) -> Image.Image:
    """A picture as Pillow has it."""
    return picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
