"""Preprocess images: crop, resize and normalize them, by Pillow, the reference, or faster by torch."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray
from regrade.core.model_spec import CropMode, Interpolation, Preprocessing

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""

MAX_PIXELS = 1 << 25
"""Largest resized image; for one that is longer, only the part inside the crop is computed."""

_GPU_DECODERS = ("nvidia-nvimgcodec-cu13", "nvidia-nvimgcodec-cu12")

FILTERS = {
    Interpolation.NEAREST: Image.Resampling.NEAREST,
    Interpolation.BILINEAR: Image.Resampling.BILINEAR,
    Interpolation.BICUBIC: Image.Resampling.BICUBIC,
}
"""Pillow's resampling filters."""


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


class Resizer(Enum):
    """The library that resizes images."""

    PILLOW = "pillow"
    """Bit-identical to torchvision's transforms on a Pillow image."""

    TORCH = "torch"
    """Three to four times faster; within one gray level of Pillow on photographs, more at edges of tall ones."""

    GPU = "gpu"
    """JPEGs are decoded and resized on the GPU, within a gray level of Pillow; other images are resized by torch."""

    @property
    def runtime(self) -> str:
        """The library and its version, as manifests record them."""
        if self is Resizer.GPU:
            return gpu_decoder() or "GPU"
        return f"{self.value} {version(self.value)}"


def gpu_decoder() -> str | None:
    """The libraries that decode and resize JPEGs on a GPU, with their versions; None if one is not installed."""
    for package in _GPU_DECODERS:
        try:
            return f"nvimgcodec {version(package)} and triton {version('triton')}"
        except PackageNotFoundError:
            continue
    return None


def fastest_resizer() -> Resizer:
    """The fastest installed resizer that needs no GPU."""
    return Resizer.TORCH if importlib.util.find_spec("torch") else Resizer.PILLOW


def resize(
    image: Image.Image | NDArray[np.uint8], size: tuple[int, int], interpolation: Interpolation, resizer: Resizer
) -> NDArray[np.uint8]:
    """Shape (height, width) or (height, width, 3): a grayscale or RGB image resized to ``size`` (width, height)."""
    if size_of(image) == size:
        return np.asarray(image)
    if resizer is Resizer.PILLOW or interpolation is Interpolation.NEAREST:
        return np.asarray(as_image(image).resize(size, FILTERS[interpolation]))
    return resize_by_torch(np.asarray(image), size, interpolation.value)


def size_of(image: Image.Image | NDArray[np.uint8]) -> tuple[int, int]:
    """Width and height."""
    return image.size if isinstance(image, Image.Image) else (image.shape[1], image.shape[0])


def as_image(image: Image.Image | NDArray[np.uint8]) -> Image.Image:
    """An image as a Pillow image."""
    return image if isinstance(image, Image.Image) else Image.fromarray(image)


def preprocess(image: Image.Image, preprocessing: Preprocessing, resizer: Resizer = Resizer.PILLOW) -> FloatArray:
    """Shape (channels, size, size): an RGB or grayscale image as a model's input, in single precision."""
    return normalize(crop_and_resize(image, preprocessing, resizer), preprocessing)


def crop_and_resize(
    image: Image.Image | NDArray[np.uint8], preprocessing: Preprocessing, resizer: Resizer = Resizer.PILLOW
) -> NDArray[np.uint8]:
    """Shape (size, size, channels): the part of an image that the model sees, as bytes.

    The image may be an array of its pixels (height, width, 3), which is faster with `Resizer.TORCH`.
    """
    mode = "RGB" if preprocessing.channels == 3 else "L"
    if isinstance(image, Image.Image) and image.mode not in ("RGB", "L"):
        image = image.convert("RGB")
    pixels = _crop_and_resize(image, preprocessing, resizer)
    if pixels.ndim != (3 if mode == "RGB" else 2):
        pixels = np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).convert(mode))
    return np.atleast_3d(pixels)


def normalize(pixels: NDArray[np.uint8], preprocessing: Preprocessing) -> FloatArray:
    """Shape (channels, size, size): the bytes (size, size, channels) of an image as a model's input."""
    values = np.empty((preprocessing.channels, preprocessing.size, preprocessing.size), dtype=np.float32)
    for channel, levels in enumerate(_normalized_levels(tuple(preprocessing.mean), tuple(preprocessing.std))):
        np.take(levels, pixels[..., channel], out=values[channel], mode="clip")
    return values


@lru_cache(maxsize=16)
def _normalized_levels(mean: tuple[float, ...], std: tuple[float, ...]) -> FloatArray:
    """Shape (channels, 256): the normalized value of each byte."""
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    return (levels - np.array(mean, dtype=np.float32)[:, None]) / np.array(std, dtype=np.float32)[:, None]


def _crop_and_resize(
    image: Image.Image | NDArray[np.uint8], preprocessing: Preprocessing, resizer: Resizer
) -> NDArray[np.uint8]:
    """Shape (size, size) or (size, size, 3): the part of an image that the model sees."""
    geometry = compute_crop(size_of(image), preprocessing)
    if geometry.pixels > MAX_PIXELS:
        return _center_of_resized(as_image(image), geometry, preprocessing)
    cropped = image if geometry.crop_before is None else _cropped(image, geometry.crop_before)
    resized = resize(cropped, geometry.size, preprocessing.interpolation, resizer)
    left, top, right, bottom = geometry.crop_after
    return resized[top:bottom, left:right]


def _cropped(image: Image.Image | NDArray[np.uint8], box: Box) -> Image.Image | NDArray[np.uint8]:
    left, top, right, bottom = box
    return image.crop(box) if isinstance(image, Image.Image) else image[top:bottom, left:right]


def _center_of_resized(image: Image.Image, geometry: CropGeometry, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """The central square of a resized image without the rest, which would fill the memory for long, narrow images."""
    left, top, right, bottom = geometry.crop_after
    across, down = image.width / geometry.size[0], image.height / geometry.size[1]
    box = (left * across, top * down, min(right * across, image.width), min(bottom * down, image.height))
    return np.asarray(
        image.resize((preprocessing.size, preprocessing.size), FILTERS[preprocessing.interpolation], box=box)
    )


def resize_by_torch(pixels: NDArray[np.uint8], size: tuple[int, int], mode: str) -> NDArray[np.uint8]:
    """Pixels (height, width) or (height, width, 3) at another size (width, height), with anti-aliasing."""
    import torch

    # torch refuses read-only arrays, and is slow to copy part of an array
    own = np.require(np.atleast_3d(pixels), requirements=["C", "W"])
    image = torch.from_numpy(own).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(image, (size[1], size[0]), mode=mode, antialias=True)
    return resized[0].permute(1, 2, 0).numpy().reshape(size[1], size[0], *pixels.shape[2:])


def normalize_by_torch(levels: Any, preprocessing: Preprocessing) -> Any:
    """Shape (n, channels, size, size): bytes as a model's input."""
    import torch

    mean, std = (
        torch.tensor(values, dtype=torch.float32, device=levels.device)[:, None, None]
        for values in (preprocessing.mean, preprocessing.std)
    )
    return (levels.float() / 255 - mean) / std
