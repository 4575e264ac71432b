"""JPEGs decoded on a GPU, and cropped, resized and normalized there."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core.model_spec import Interpolation, Preprocessing
from regrade.kernels import DeviceImage, Region
from regrade.models.failures import needs
from regrade.models.preprocess import MAX_PIXELS, compute_crop

JpegBytes = bytes | NDArray[np.uint8]

_START_MARKER, _END_MARKER = b"\xff\xd8", b"\xff\xd9"
_ORIENTATION = 0x0112  # EXIF tag
_USUAL_SIZE = 512  # pixels
_ONE_DECODER = Lock()  # while it is made: a second thread waits for it

DECODED_AT_ONCE = 256
"""JPEGs; the chip's own decoder leaves the rest of larger batches to the CPU, which is slower."""


def gpu_can_decode(data: bytes, preprocessing: Preprocessing, *, upright: bool) -> bool:
    """Whether a GPU decodes and preprocesses an image as a CPU would.

    That is a complete JPEG, grayscale or RGB, without an EXIF orientation to apply (``upright``), with a preprocessing
    that a GPU can carry out.
    """
    if preprocessing.channels != 3 or preprocessing.interpolation is Interpolation.NEAREST:
        return False
    if not data.startswith(_START_MARKER) or not data.rstrip(b"\0").endswith(_END_MARKER):
        return False
    try:
        with Image.open(io.BytesIO(data)) as image:
            rotated = upright and image.getexif().get(_ORIENTATION, 1) != 1
            return image.format == "JPEG" and image.mode in ("RGB", "L") and not rotated
    except Exception:  # the parser raises many kinds of errors on damaged files
        return False


class GpuImageLoader:
    """Crops, resizes and normalizes decoded images into the inputs of models on a GPU."""

    def __init__(self, preprocessing: Preprocessing, *, border: int, device: str) -> None:
        import torch

        self._preprocessing = preprocessing
        self._border = border
        self._mean, self._std = (
            torch.tensor(values, dtype=torch.float32, device=device)
            for values in (preprocessing.mean, preprocessing.std)
        )

    def load(self, images: Sequence[Any], rows: Sequence[int], inputs: Any) -> list[int]:
        """Fill ``rows`` of ``inputs`` (n, size, size, 3) with images; return the numbers of those it cannot handle.

        Images are those of `decode_jpegs`, or None.
        """
        from regrade.kernels.resample import resampled

        usable, failed = [], []
        for number, image in enumerate(images):
            region = None if image is None else _region(*image.shape[:2], self._preprocessing, self._border)
            if region is None:
                failed.append(number)
            else:
                usable.append((_on_device(image), region, rows[number]))
        if usable:
            images, regions, filled = zip(*usable, strict=True)
            bicubic = self._preprocessing.interpolation is Interpolation.BICUBIC
            resampled(images, regions, inputs, filled, bicubic=bicubic, mean=self._mean, std=self._std)
        return failed


@lru_cache(maxsize=10_000)  # images of a test set share a few sizes
def _region(height: int, width: int, preprocessing: Preprocessing, border: int) -> Region | None:
    """The part of an image that a model sees; None for one that is too small or too long."""
    height, width = height - 2 * border, width - 2 * border
    if min(height, width) < 1:
        return None
    geometry = compute_crop((width, height), preprocessing)
    if geometry.pixels > MAX_PIXELS:
        return None
    left, top, right, bottom = geometry.crop_before or (0, 0, width, height)
    corner = left + border, top + border
    return Region(*corner, right - left, bottom - top, *geometry.size, *geometry.crop_after[:2])


def _on_device(image: Any) -> DeviceImage:
    fields = image.__cuda_array_interface__
    height, width, channels = fields["shape"]
    strides = fields.get("strides") or (width * channels, channels, 1)
    return DeviceImage(fields["data"][0], height, width, strides[0])


def decode_jpegs(files: Sequence[JpegBytes]) -> list[Any]:
    """Images (height, width, 3) on the GPU, None for files that it cannot decode."""
    return jpeg_decoder()(files) if files else []


def jpeg_decoder() -> Callable[[Sequence[JpegBytes]], list[Any]]:
    """A function from JPEGs to images (height, width, 3) on the GPU, None for those it cannot decode.

    It works in torch's current stream, ignores EXIF orientations, and interpolates chroma as libjpeg does. Its first
    call takes more than a second. All threads share it.
    """
    with _ONE_DECODER:
        return _new_jpeg_decoder()


@cache
def _new_jpeg_decoder() -> Callable[[Sequence[JpegBytes]], list[Any]]:
    with needs("cuda", "decoding on the GPU"):
        from nvidia import nvimgcodec
    import torch

    decoder = nvimgcodec.Decoder(backends=[nvimgcodec.Backend(kind) for kind in _backends(nvimgcodec)])
    options = nvimgcodec.DecodeParams(apply_exif_orientation=False, color_spec=nvimgcodec.ColorSpec.SRGB)

    one_at_a_time = Lock()

    def decode(files: Sequence[JpegBytes]) -> list[Any]:
        stream = torch.cuda.current_stream().cuda_stream
        images: list[Any] = []
        with one_at_a_time:
            for start in range(0, len(files), DECODED_AT_ONCE):
                images += decoder.decode(
                    list(files[start : start + DECODED_AT_ONCE]), params=options, cuda_stream=stream
                )
        return images

    buffer = io.BytesIO()
    Image.new("RGB", (_USUAL_SIZE, _USUAL_SIZE)).save(buffer, "JPEG")
    decode([buffer.getvalue()] * DECODED_AT_ONCE)  # the chip's own decoder never takes more at once than the first time
    return decode


def warm_up() -> None:
    """Make the decoder, if that has not been done; raises what the decoder raises."""
    jpeg_decoder()


def _backends(nvimgcodec: Any) -> list[Any]:
    """The chip's own JPEG decoder where there is one, otherwise kernels and the CPU."""
    kinds = nvimgcodec.BackendKind
    return [kinds.HW_GPU_ONLY, kinds.GPU_ONLY, kinds.HYBRID_CPU_GPU]
