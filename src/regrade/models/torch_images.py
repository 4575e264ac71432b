"""What torch does with images: resizing, framing and normalizing them, on a CPU or a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core.preprocessing import Preprocessing
from regrade.models.crop_geometry import Box, frame_of


def resize_by_torch(pixels: NDArray[np.uint8], size: tuple[int, int], mode: str) -> NDArray[np.uint8]:
    """Pixels (height, width) or (height, width, 3) at another size (width, height), with anti-aliasing."""
    import torch

    # torch takes no array that must not be written to, and copies a part of one slowly
    own = np.require(np.atleast_3d(pixels), requirements=["C", "W"])
    image = torch.from_numpy(own).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(image, (size[1], size[0]), mode=mode, antialias=True)
    return resized[0].permute(1, 2, 0).numpy().reshape(size[1], size[0], *pixels.shape[2:])


def bytes_tensor(data: bytes) -> Any:
    """Bytes as a tensor."""
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def wait_for_gpu() -> None:
    """Wait until the GPU has done all it was asked to."""
    import torch

    torch.cuda.synchronize()


def framed_on_gpu(image: Any, recipe: Preprocessing) -> Any:
    """Shape (size, size, 3): what the model sees of an RGB image (3, height, width) on the GPU, in gray levels."""
    import torch

    frame = frame_of((image.shape[2], image.shape[1]), recipe)
    if frame.first is not None:
        image = _cropped(image, frame.first)
    resized = torch.nn.functional.interpolate(
        image[None].float(), (frame.size[1], frame.size[0]), mode=recipe.interpolation.value, antialias=True
    )
    return _cropped(resized[0], frame.then).round_().clamp_(0, 255).to(torch.uint8).permute(1, 2, 0)


def normalized_by_torch(levels: Any, recipe: Preprocessing) -> Any:
    """Shape (n, channels, size, size): gray levels as a model's input."""
    import torch

    mean, std = (
        torch.tensor(values, dtype=torch.float32, device=levels.device)[:, None, None]
        for values in (recipe.mean, recipe.std)
    )
    return (levels.float() / 255 - mean) / std


def _cropped(image: Any, box: Box) -> Any:
    left, top, right, bottom = box
    return image[:, top:bottom, left:right]
