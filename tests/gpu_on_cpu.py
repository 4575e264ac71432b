"""What replaces a GPU in tests: images decoded by Pillow, and kernels that Triton runs in Python."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from predicting import CIFAR

from regrade.core import Preprocessing
from regrade.models import Settings
from regrade.models.description import describe_model

PREPROCESSING = Preprocessing(8, 9)


class DecodedImage:
    """An image in memory, with the interface of one on a GPU."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels
        self.shape = pixels.shape
        self.__cuda_array_interface__ = pixels.__array_interface__


def photographs(folder: Path, count: int) -> Path:
    """JPEGs of several sizes; x003 is a PNG, x005 is no image, x006 is a JPEG that only the CPU decodes."""
    rng = np.random.default_rng(0)
    for number in range(count):
        path = folder / str(number % 10) / f"x{number:03d}.{'png' if number == 3 else 'jpg'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = rng.integers(12, 30, 2)
        Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)).resize((20, 16)).save(path)
    (folder / "5" / "x005.jpg").write_bytes(b"no image")
    odd = folder / "6" / "x006.jpg"
    data = odd.read_bytes()
    odd.write_bytes(data[:2] + b"\xff\xfe\x00\x09unknown" + data[2:])  # in a comment
    return folder


def small_network(seed: int = 0) -> Any:
    """A torch module whose classes keep their order if pixels change by a gray level."""
    import torch

    torch.manual_seed(seed)
    layers = torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()
    last = torch.nn.Linear(24, 10)
    with torch.no_grad():
        last.bias += torch.arange(10) * 0.3
    return torch.nn.Sequential(*layers, last)


def model(module: Any = None, name: str = "net", preprocessing: Preprocessing = PREPROCESSING) -> Any:
    """A torch model of CIFAR-10."""
    from regrade.models.torch_runtime import TorchModel

    settings = Settings(class_space=CIFAR, preprocessing=preprocessing)
    return TorchModel(small_network() if module is None else module, describe_model(name, settings), settings)


def decoded_by_pillow(files) -> list[DecodedImage | None]:
    """Images as RGB; None for files that contain ``unknown`` or that Pillow cannot read."""
    return [_decoded(bytes(data)) for data in files]


def _decoded(data: bytes) -> DecodedImage | None:
    if b"unknown" in data:
        return None
    with Image.open(io.BytesIO(data)) as image:
        return DecodedImage(np.array(image.convert("RGB")))
