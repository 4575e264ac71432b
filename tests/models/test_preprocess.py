"""Preprocessing is bit-identical to torchvision's and works for images of any shape."""

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import IMAGENET, CropMode, Interpolation, Preprocessing
from regrade.models import Resizer, crop_and_resize, preprocess

RESIZERS = [Resizer.PILLOW, Resizer.TORCH] if importlib.util.find_spec("torch") else [Resizer.PILLOW]
SHAPES = [(500, 375), (375, 500), (224, 224), (3, 2), (1, 1), (1, 37), (300, 7), (333, 257)]


def noise(width, height, mode="RGB"):
    shape = (height, width, 3) if mode == "RGB" else (height, width)
    return Image.fromarray(np.random.default_rng(width * 1000 + height).integers(0, 256, shape, dtype=np.uint8))


@pytest.mark.parametrize("size", SHAPES, ids=str)
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("crop_mode", [CropMode.RESIZE_THEN_CROP, CropMode.STRETCH])
@pytest.mark.parametrize("sides", [(32, 32), (32, 36), (33, 36)])
def test_preprocess_equals_torchvision(size, interpolation, crop_mode, sides, library):
    side, short_side = sides
    library("torchvision")
    from torchvision import transforms

    stretch = crop_mode is CropMode.STRETCH
    theirs = transforms.Compose(
        [
            transforms.Resize(
                (short_side, short_side) if stretch else short_side, transforms.InterpolationMode(interpolation.value)
            ),
            transforms.CenterCrop(side),
            transforms.ToTensor(),
            transforms.Normalize(IMAGENET.mean, IMAGENET.std),
        ]
    )
    image = noise(*size)
    ours = preprocess(image, Preprocessing(side, short_side, crop_mode, interpolation))
    np.testing.assert_array_equal(ours, theirs(image).numpy())


def test_preprocess_crop_then_resize_by_hand():
    pixels = np.zeros((6, 10, 3), np.uint8)
    pixels[1:5, 3:7] = 255  # the central square of 4/6 of the shorter side
    preprocessing = Preprocessing(2, 3, CropMode.CROP_THEN_RESIZE, mean=(0.0,) * 3, std=(1.0,) * 3)
    np.testing.assert_array_equal(preprocess(Image.fromarray(pixels), preprocessing), np.ones((3, 2, 2)))


def test_preprocess_resize_then_crop_by_hand():
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 2:6] = 255
    preprocessing = Preprocessing(4, 4, interpolation=Interpolation.NEAREST, mean=(0.5,) * 3, std=(0.25,) * 3)
    np.testing.assert_array_equal(preprocess(Image.fromarray(pixels), preprocessing), np.full((3, 4, 4), 2.0))


EVERY_LEVEL = np.arange(256, dtype=np.uint8).reshape(16, 16)


@given(st.tuples(*[st.floats(0, 1)] * 3), st.tuples(*[st.floats(0.01, 2)] * 3))
def test_normalization_equals_the_formula_exactly(mean, std):
    pixels = np.stack([EVERY_LEVEL, EVERY_LEVEL.T, EVERY_LEVEL[::-1]], axis=2)
    ours = preprocess(Image.fromarray(pixels), Preprocessing(16, 16, mean=mean, std=std))
    plain = (pixels.astype(np.float32) / np.float32(255) - np.float32(mean)) / np.float32(std)
    np.testing.assert_array_equal(ours, plain.transpose(2, 0, 1))


def test_normalization_of_grayscale_images_equals_the_formula_exactly():
    ours = preprocess(Image.fromarray(EVERY_LEVEL), Preprocessing(16, 16, mean=(0.1307,), std=(0.3081,)))
    plain = (EVERY_LEVEL.astype(np.float32) / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081)
    np.testing.assert_array_equal(ours, plain[None])


def test_preprocessing_accepts_lists():
    preprocessing = Preprocessing(4, 4, mean=[0.0] * 3, std=[1.0] * 3)
    np.testing.assert_array_equal(preprocess(Image.new("RGB", (4, 4), "white"), preprocessing), np.ones((3, 4, 4)))


def test_normalization_is_cached_per_preprocessing():
    image = Image.fromarray(EVERY_LEVEL).convert("RGB")
    preprocessings = [Preprocessing(16, 16, mean=(level / 20,) * 3, std=(1.0,) * 3) for level in range(20)]
    once = [preprocess(image, preprocessing) for preprocessing in preprocessings]
    for preprocessing, before in zip(preprocessings, once, strict=True):
        np.testing.assert_array_equal(preprocess(image, preprocessing), before)
    assert len({inputs.tobytes() for inputs in once}) == 20
    once[0][:] = 5
    np.testing.assert_allclose(preprocess(image, preprocessings[0]), once[1] + np.float32(1 / 20), atol=1e-6)


def test_grayscale_models_get_the_luminance():
    preprocessing = Preprocessing(4, 4, mean=(0.0,), std=(1.0,))
    red = Image.new("RGB", (9, 5), (255, 0, 0))
    np.testing.assert_allclose(preprocess(red, preprocessing), np.full((1, 4, 4), 76 / 255), atol=1e-6)


def test_grayscale_images_have_equal_channels():
    preprocessing = Preprocessing(4, 4, mean=(0.0,) * 3, std=(1.0,) * 3)
    result = preprocess(noise(6, 5, "L"), preprocessing)
    assert result.shape == (3, 4, 4)
    np.testing.assert_array_equal(result[0], result[2])


@pytest.mark.parametrize("crop_mode", CropMode)
def test_preprocess_of_a_very_long_image_needs_little_memory(crop_mode, monkeypatch):
    biggest = []
    resize = Image.Image.resize

    def recorded(self, size, *args, **kwargs):
        biggest.append(size[0] * size[1])
        return resize(self, size, *args, **kwargs)

    monkeypatch.setattr(Image.Image, "resize", recorded)
    result = preprocess(noise(30_000, 2), Preprocessing(224, 256, crop_mode))
    assert result.shape == (3, 224, 224) and max(biggest) <= 1 << 25


@pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
def test_preprocess_of_long_images_is_close_to_the_usual_result(interpolation, monkeypatch):
    preprocessing = Preprocessing(32, 36, interpolation=interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    smooth = Image.fromarray(np.linspace(0, 255, 900).astype(np.uint8)[None].repeat(20, axis=0)).convert("RGB")
    usual = preprocess(smooth, preprocessing)
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MAX_PIXELS", 1)
    np.testing.assert_allclose(preprocess(smooth, preprocessing), usual, atol=1.01 / 255)


@given(
    shape=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    size=st.integers(1, 24),
    extra=st.integers(0, 9),
    ways=st.tuples(st.sampled_from(CropMode), st.sampled_from(Interpolation)),
    resizer=st.sampled_from(RESIZERS),
)
@settings(deadline=None)
def test_preprocess_gives_the_right_shape_and_range(shape, size, extra, ways, resizer):
    preprocessing = Preprocessing(size, size + extra, *ways, mean=(0.0,) * 3, std=(1.0,) * 3)
    result = preprocess(Image.new("RGB", shape, (255, 0, 51)), preprocessing, resizer)
    assert result.shape == (3, size, size) and result.dtype == np.float32 and result.flags.c_contiguous
    np.testing.assert_allclose(result, np.broadcast_to(np.float32([1, 0, 0.2])[:, None, None], result.shape), atol=1e-6)


@pytest.mark.parametrize("resizer", RESIZERS)
@pytest.mark.parametrize("crop_mode", CropMode)
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("size", [(50, 37), (37, 50), (36, 36), (9000, 1)], ids=str)
def test_crop_and_resize_of_pixels_equals_that_of_the_image(resizer, crop_mode, interpolation, size, monkeypatch):
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MAX_PIXELS", 1 << 16)
    preprocessing = Preprocessing(32, 36, crop_mode, interpolation)
    image = noise(*size)
    pixels = np.asarray(image).copy()
    for writable in (True, False):
        pixels.flags.writeable = writable
        np.testing.assert_array_equal(
            crop_and_resize(pixels, preprocessing, resizer), crop_and_resize(image, preprocessing, resizer)
        )
        np.testing.assert_array_equal(pixels, np.asarray(image))
