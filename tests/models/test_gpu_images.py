"""JPEGs on the GPU: which of them it decodes, and equal results. Without a GPU, Pillow replaces its decoder."""

import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from gpu_on_cpu import decoded_by_pillow
from PIL import Image

from regrade.core import CropMode, Interpolation, Preprocessing
from regrade.models import GpuImageLoader, crop_and_resize, gpu_can_decode, gpu_images

PREPROCESSING = Preprocessing(32, 36)
ROTATED = 6  # EXIF orientation of a camera held upright


def ramp(width=90, height=60, mode="RGB"):
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([across, down, 255 - across], axis=2).astype(np.uint8)).convert(mode)


def encoded(image, form="JPEG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


WHOLE = encoded(ramp())


def with_orientation(orientation) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(ramp(), exif=exif)


class TestGpuCanDecode:
    @pytest.mark.parametrize("mode", ["RGB", "L"])
    def test_gpu_can_decode_complete_jpegs(self, mode):
        data = encoded(ramp(mode=mode))
        assert gpu_can_decode(data, PREPROCESSING, upright=True)
        assert gpu_can_decode(data + bytes(100), PREPROCESSING, upright=True), "zeros at the end do not matter"

    def test_gpu_can_decode_rejects_exif_orientation(self):
        assert not gpu_can_decode(with_orientation(ROTATED), PREPROCESSING, upright=True)
        assert gpu_can_decode(with_orientation(ROTATED), PREPROCESSING, upright=False)
        assert gpu_can_decode(with_orientation(1), PREPROCESSING, upright=True)

    @pytest.mark.parametrize(
        "data",
        [
            encoded(ramp(), "PNG"),
            encoded(ramp(mode="CMYK")),
            WHOLE[:-300],
            WHOLE[:2],
            b"",
            b"\xff\xd8 no image \xff\xd9",
        ],
        ids=["png", "cmyk", "truncated", "header", "empty", "text"],
    )
    def test_gpu_can_decode_rejects_other_files(self, data):
        assert not gpu_can_decode(data, PREPROCESSING, upright=True)

    @pytest.mark.parametrize(
        "preprocessing",
        [Preprocessing(32, 36, mean=(0.5,), std=(0.5,)), Preprocessing(32, 36, interpolation=Interpolation.NEAREST)],
        ids=["gray", "nearest"],
    )
    def test_gpu_can_decode_rejects_unsupported_preprocessing(self, preprocessing):
        assert not gpu_can_decode(WHOLE, preprocessing, upright=True)


class TestGpuImageLoader:
    """Inputs of a model from JPEGs."""

    @pytest.fixture(autouse=True)
    def batch_sizes(self, library, monkeypatch):
        """Number of images of each call of the decoder."""
        self.torch = library("torch")
        library("triton")
        counts = []

        def decode(files):
            counts.append(len(files))
            return decoded_by_pillow(files)

        monkeypatch.setattr(gpu_images, "jpeg_decoder", lambda: decode)
        return counts

    def levels(self, files, preprocessing=PREPROCESSING, *, border=0):
        """Gray levels (n, size, size, 3), and the numbers of the files that were not handled."""
        plain = Preprocessing(
            preprocessing.size, preprocessing.short_side, preprocessing.crop_mode, preprocessing.interpolation,
            mean=(0, 0, 0), std=(1 / 255,) * 3,
        )  # fmt: skip
        inputs = self.torch.zeros((len(files), plain.size, plain.size, 3))
        images = gpu_images.decode_jpegs(files)
        failed = GpuImageLoader(plain, border=border, device="cpu").load(images, range(len(files)), inputs)
        return inputs.numpy(), failed

    @pytest.mark.parametrize("crop_mode", CropMode)
    @pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
    @pytest.mark.parametrize("size", [(90, 60), (60, 90), (20, 300), (36, 36)])
    def test_load_equals_the_cpu_within_a_gray_level(self, crop_mode, interpolation, size):
        preprocessing = Preprocessing(32, 36, crop_mode, interpolation)
        data = encoded(ramp(*size), quality=95)
        (image,), failed = self.levels([data], preprocessing)
        assert failed == []
        assert np.abs(image - crop_and_resize(Image.open(io.BytesIO(data)), preprocessing)).max() <= 1.001

    def test_load_removes_the_border_first(self):
        image = Image.new("RGB", (80, 64), (255, 0, 0))
        image.paste((0, 0, 255), (8, 8, 72, 56))
        (inner,), _ = self.levels([encoded(image, quality=100, subsampling=0)], border=10)
        assert np.abs(inner - [0, 0, 255]).max() <= 4
        assert self.levels([WHOLE], border=29)[1] == []
        assert self.levels([WHOLE], border=30)[1] == self.levels([WHOLE], border=31)[1] == [0]

    def test_load_of_a_grayscale_jpeg_has_equal_channels(self):
        (image,), _ = self.levels([encoded(ramp(mode="L"))])
        np.testing.assert_array_equal(image[..., 0], image[..., 2])

    def test_load_skips_images_that_would_fill_the_memory(self):
        data = encoded(Image.new("RGB", (3000, 2)))
        assert self.levels([data], Preprocessing(224, 256))[1] == [0]
        assert self.levels([data], Preprocessing(32, 32))[1] == []

    def test_jpegs_are_decoded_in_one_call_in_order(self, batch_sizes):
        files = [encoded(Image.new("RGB", (40, 40), (20 * level, 0, 0)), quality=95) for level in range(10)]
        images, _ = self.levels(files, Preprocessing(8, 8))
        assert batch_sizes == [10]
        assert [round(float(image[..., 0].mean()) / 20) for image in images] == list(range(10))

    def test_undecodable_jpeg_does_not_affect_the_others(self):
        broken = WHOLE[:20] + b"unknown" + WHOLE[20:]
        images, failed = self.levels([WHOLE, broken, WHOLE])
        assert failed == [1]
        np.testing.assert_array_equal(images[0], images[2])
        assert images[0].max() > 0 and images[1].max() == 0

    def test_no_jpeg_at_all(self, batch_sizes):
        assert self.levels([])[1] == [] and batch_sizes == []


def test_threads_share_one_decoder_that_is_warmed_up_once(monkeypatch):
    decoders, decoded = [], []

    class Decoder:
        def __init__(self, **_):
            time.sleep(0.1)
            decoders.append(self)

        def decode(self, files, **_):
            decoded.append(len(files))
            return files

    kinds = SimpleNamespace(HW_GPU_ONLY=0, GPU_ONLY=1, HYBRID_CPU_GPU=2)
    library = SimpleNamespace(
        Decoder=Decoder,
        Backend=lambda kind: kind,
        BackendKind=kinds,
        ColorSpec=SimpleNamespace(SRGB=0),
        DecodeParams=lambda **_: None,
    )
    stream = SimpleNamespace(cuda_stream=0)
    monkeypatch.setattr(pytest.importorskip("torch").cuda, "current_stream", lambda: stream)
    monkeypatch.setitem(sys.modules, "nvidia", SimpleNamespace(nvimgcodec=library))
    monkeypatch.setattr(gpu_images, "_new_jpeg_decoder", cache(gpu_images._new_jpeg_decoder.__wrapped__))
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: gpu_images.jpeg_decoder(), range(2))
    assert first is second and len(decoders) == 1
    for _ in range(2):
        gpu_images.warm_up()  # before every task of a cluster
    assert decoded == [gpu_images.DECODED_AT_ONCE]
