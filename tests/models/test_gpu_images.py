"""JPEGs on the GPU: which of them it decodes, and equal results. Without a GPU, Pillow replaces it."""

import io

import numpy as np
import pytest
from PIL import Image

from regrade.core import CropMode, Interpolation, Preprocessing
from regrade.models import crop_and_resize, decode_and_crop_jpegs, gpu_can_decode, gpu_images

PREPROCESSING = Preprocessing(32, 36)
ROTATED = 6  # EXIF orientation of a camera held upright


@pytest.fixture(autouse=True)
def batch_sizes(library, monkeypatch):
    """Number of images of each call of the decoder."""
    torch = library("torch")
    real, counts = gpu_images.decode_jpegs_on_gpu, []

    def on_cpu(data):
        return torch.from_numpy(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).copy()).permute(2, 0, 1)

    def decode(files):
        assert files, "torchvision decodes no empty list"
        counts.append(len(files))
        if any(b"unknown" in data for data in files):
            raise RuntimeError("nvjpeg: not supported")
        return real(files) if torch.cuda.is_available() else [on_cpu(data) for data in files]

    monkeypatch.setattr(gpu_images, "decode_jpegs_on_gpu", decode)
    return counts


def ramp(width=90, height=60, mode="RGB"):
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([across, down, 255 - across], axis=2).astype(np.uint8)).convert(mode)


def encoded(image, form="JPEG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def decoded(data, preprocessing=PREPROCESSING, *, border=0):
    (image,) = decode_and_crop_jpegs([data], preprocessing, border=border)
    return None if image is None else image.cpu().numpy()


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


@pytest.mark.parametrize("crop_mode", CropMode)
@pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
@pytest.mark.parametrize("size", [(90, 60), (60, 90), (20, 300), (36, 36)])
def test_gpu_crop_matches_cpu_within_a_few_gray_levels(crop_mode, interpolation, size, library):
    preprocessing = Preprocessing(32, 36, crop_mode, interpolation)
    data = encoded(ramp(*size), quality=95)
    on_gpu, on_cpu = decoded(data, preprocessing), crop_and_resize(Image.open(io.BytesIO(data)), preprocessing)
    assert (on_gpu.shape, on_gpu.dtype) == ((32, 32, 3), np.uint8)
    # a GPU's decoder also interpolates the chroma channels differently
    assert np.abs(on_gpu.astype(int) - on_cpu).max() <= (12 if library("torch").cuda.is_available() else 3)


def test_gpu_crop_removes_the_border_first():
    image = Image.new("RGB", (80, 64), (255, 0, 0))
    image.paste((0, 0, 255), (8, 8, 72, 56))
    inner = decoded(encoded(image, quality=100, subsampling=0), border=10)
    assert np.abs(inner.astype(int) - [0, 0, 255]).max() <= 4
    assert decoded(WHOLE, border=29) is not None
    assert decoded(WHOLE, border=30) is None and decoded(WHOLE, border=31) is None


def test_gpu_crop_of_a_grayscale_jpeg_has_equal_channels():
    image = decoded(encoded(ramp(mode="L")))
    np.testing.assert_array_equal(image[..., 0], image[..., 2])


def test_gpu_crop_skips_images_that_would_fill_the_memory():
    data = encoded(Image.new("RGB", (3000, 2)))
    assert decoded(data, Preprocessing(224, 256)) is None
    assert decoded(data, Preprocessing(32, 32)) is not None


def test_jpegs_are_decoded_in_one_call_in_order(batch_sizes):
    files = [encoded(Image.new("RGB", (40, 40), (20 * level, 0, 0)), quality=95) for level in range(10)]
    images = decode_and_crop_jpegs(files, PREPROCESSING, border=0)
    assert batch_sizes == [10]
    assert [round(float(image[..., 0].float().mean()) / 20) for image in images] == list(range(10))


def test_undecodable_jpeg_does_not_affect_the_others(batch_sizes):
    broken = WHOLE[:20] + b"unknown" + WHOLE[20:]
    images = decode_and_crop_jpegs([WHOLE, broken, WHOLE], PREPROCESSING, border=0)
    assert [image is None for image in images] == [False, True, False]
    assert batch_sizes == [3, 1, 1, 1]


def test_empty_list_of_jpegs(batch_sizes):
    assert decode_and_crop_jpegs([], PREPROCESSING, border=0) == [] and batch_sizes == []
