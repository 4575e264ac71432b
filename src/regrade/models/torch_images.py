"""Resize, crop and normalize images with torch, on a CPU or a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core.model_spec import Preprocessing
from regrade.models.crop_geometry import Box, compute_crop


def resize_by_torch(pixels: NDArray[np.uint8], size: tuple[int, int], mode: str) -> NDArray[np.uint8]:
    """Pixels (height, width) or (height, width, 3) at another size (width, height), with anti-aliasing."""
    import torch

    # torch refuses read-only arrays, and is slow to copy part of an array
    own = np.require(np.atleast_3d(pixels), requirements=["C", "W"])
    image = torch.from_numpy(own).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(image, (size[1], size[0]), mode=mode, antialias=True)
    return resized[0].permute(1, 2, 0).numpy().reshape(size[1], size[0], *pixels.shape[2:])


def bytes_tensor(data: bytes) -> Any:
    """A tensor of bytes."""
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def wait_for_gpu() -> None:
    """Wait until the GPU has finished all its work."""
    import torch

    torch.cuda.synchronize()


def crop_and_resize_on_gpu(image: Any, preprocessing: Preprocessing) -> Any:
    """Shape (size, size, 3): the part of an RGB image (3, height, width) on the GPU that the model sees, as bytes."""
    import torch

    geometry = compute_crop((image.shape[2], image.shape[1]), preprocessing)
    if geometry.crop_before is not None:
        image = _cropped(image, geometry.crop_before)
    width, height = geometry.size
    resized = torch.nn.functional.interpolate(
        image[None].float(), (height, width), mode=preprocessing.interpolation.value, antialias=True
    )
    return _cropped(resized[0], geometry.crop_after).round_().clamp_(0, 255).to(torch.uint8).permute(1, 2, 0)


def normalize_by_torch(levels: Any, preprocessing: Preprocessing) -> Any:
    """Shape (n, channels, size, size): bytes as a model's input."""
    import torch

    mean, std = (
        torch.tensor(values, dtype=torch.float32, device=levels.device)[:, None, None]
        for values in (preprocessing.mean, preprocessing.std)
    )
    return (levels.float() / 255 - mean) / std


def _cropped(image: Any, box: Box) -> Any:
    left, top, right, bottom = box
    return image[:, top:bottom, left:right]
