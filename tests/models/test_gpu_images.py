"""JPEGs on the GPU: which go there, and that they come out as elsewhere. Without a GPU, Pillow stands in for it."""

import io

import numpy as np
import pytest
from PIL import Image

from regrade.core import Framing, Interpolation, Preprocessing
from regrade.models import framed, framed_jpegs, gpu_images, is_for_gpu

RECIPE = Preprocessing(32, 36)
TURNED = 6  # as a camera that was held upright notes it


@pytest.fixture(autouse=True)
def asked(library, monkeypatch):
    """How many images were decoded at a time."""
    torch = library("torch")
    real, counts = gpu_images.jpegs_on_gpu, []

    def on_cpu(data):
        return torch.from_numpy(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).copy()).permute(2, 0, 1)

    def decode(files):
        assert files, "torchvision decodes no empty list"
        counts.append(len(files))
        if any(b"unknown" in data for data in files):
            raise RuntimeError("nvjpeg: not supported")
        return real(files) if torch.cuda.is_available() else [on_cpu(data) for data in files]

    monkeypatch.setattr(gpu_images, "jpegs_on_gpu", decode)
    return counts


def ramp(width=90, height=60, mode="RGB"):
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([across, down, 255 - across], axis=2).astype(np.uint8)).convert(mode)


def encoded(image, form="JPEG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def made(data, recipe=RECIPE, *, border=0):
    (given,) = framed_jpegs([data], recipe, border=border)
    return None if given is None else given.cpu().numpy()


WHOLE = encoded(ramp())


def noted(note) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = note
    return encoded(ramp(), exif=exif)


class TestWhich:
    @pytest.mark.parametrize("mode", ["RGB", "L"])
    def test_whole_jpegs(self, mode):
        data = encoded(ramp(mode=mode))
        assert is_for_gpu(data, RECIPE, upright=True)
        assert is_for_gpu(data + bytes(100), RECIPE, upright=True), "zeros at the end do not matter"

    def test_none_that_is_to_be_turned(self):
        assert not is_for_gpu(noted(TURNED), RECIPE, upright=True)
        assert is_for_gpu(noted(TURNED), RECIPE, upright=False)
        assert is_for_gpu(noted(1), RECIPE, upright=True)

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
        ids=["png", "cmyk", "cut", "beginning", "empty", "text"],
    )
    def test_nothing_else(self, data):
        assert not is_for_gpu(data, RECIPE, upright=True)

    @pytest.mark.parametrize(
        "recipe",
        [Preprocessing(32, 36, mean=(0.5,), std=(0.5,)), Preprocessing(32, 36, interpolation=Interpolation.NEAREST)],
        ids=["gray", "nearest"],
    )
    def test_not_for_every_recipe(self, recipe):
        assert not is_for_gpu(WHOLE, recipe, upright=True)


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
@pytest.mark.parametrize("size", [(90, 60), (60, 90), (20, 300), (36, 36)])
def test_as_elsewhere_within_a_few_gray_levels(framing, interpolation, size, library):
    recipe = Preprocessing(32, 36, framing, interpolation)
    data = encoded(ramp(*size), quality=95)
    given, usual = made(data, recipe), framed(Image.open(io.BytesIO(data)), recipe)
    assert (given.shape, given.dtype) == ((32, 32, 3), np.uint8)
    # a GPU's decoder also finds the colors between the few that a JPEG stores in another way
    assert np.abs(given.astype(int) - usual).max() <= (12 if library("torch").cuda.is_available() else 3)


def test_a_border_is_cut_off_first():
    image = Image.new("RGB", (80, 64), (255, 0, 0))
    image.paste((0, 0, 255), (8, 8, 72, 56))
    inner = made(encoded(image, quality=100, subsampling=0), border=10)
    assert np.abs(inner.astype(int) - [0, 0, 255]).max() <= 4
    assert made(WHOLE, border=29) is not None
    assert made(WHOLE, border=30) is None and made(WHOLE, border=31) is None


def test_a_gray_jpeg_is_gray_in_color():
    given = made(encoded(ramp(mode="L")))
    np.testing.assert_array_equal(given[..., 0], given[..., 2])


def test_a_very_long_one_would_fill_the_memory():
    data = encoded(Image.new("RGB", (3000, 2)))
    assert made(data, Preprocessing(224, 256)) is None
    assert made(data, Preprocessing(32, 32)) is not None


def test_many_are_decoded_at_once_and_keep_their_order(asked):
    files = [encoded(Image.new("RGB", (40, 40), (20 * level, 0, 0)), quality=95) for level in range(10)]
    found = framed_jpegs(files, RECIPE, border=0)
    assert asked == [10]
    assert [round(float(one[..., 0].float().mean()) / 20) for one in found] == list(range(10))


def test_one_that_the_gpu_cannot_decode_leaves_the_others(asked):
    broken = WHOLE[:20] + b"unknown" + WHOLE[20:]
    found = framed_jpegs([WHOLE, broken, WHOLE], RECIPE, border=0)
    assert [one is None for one in found] == [False, True, False]
    assert asked == [3, 1, 1, 1]


def test_none_at_all(asked):
    assert framed_jpegs([], RECIPE, border=0) == [] and asked == []
