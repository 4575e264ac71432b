"""What replaces a GPU in tests: images decoded by Pillow, and kernels that Triton runs in Python."""

import io

import numpy as np
from PIL import Image


class DecodedImage:
    """An image in memory, with the interface of one on a GPU."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels
        self.shape = pixels.shape
        self.__cuda_array_interface__ = pixels.__array_interface__


def decoded_by_pillow(files) -> list[DecodedImage | None]:
    """Images as RGB; None for files that contain ``unknown`` or that Pillow cannot read."""
    return [_decoded(bytes(data)) for data in files]


def _decoded(data: bytes) -> DecodedImage | None:
    if b"unknown" in data:
        return None
    with Image.open(io.BytesIO(data)) as image:
        return DecodedImage(np.array(image.convert("RGB")))
