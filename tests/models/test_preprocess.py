"""A image becomes an input as torchvision makes it, to the bit, and no shape of image breaks it."""

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import IMAGENET, Framing, Interpolation, Preprocessing
from regrade.models import Resizer, framed, preprocess

RESIZERS = [Resizer.PILLOW, Resizer.TORCH] if importlib.util.find_spec("torch") else [Resizer.PILLOW]
SHAPES = [(500, 375), (375, 500), (224, 224), (3, 2), (1, 1), (1, 37), (300, 7), (333, 257)]


def noise(width, height, mode="RGB"):
    shape = (height, width, 3) if mode == "RGB" else (height, width)
    return Image.fromarray(np.random.default_rng(width * 1000 + height).integers(0, 256, shape, dtype=np.uint8))


@pytest.mark.parametrize("size", SHAPES, ids=str)
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("framing", [Framing.RESIZE_THEN_CROP, Framing.STRETCH])
@pytest.mark.parametrize("sides", [(32, 32), (32, 36), (33, 36)])
def test_the_same_as_torchvision(size, interpolation, framing, sides, library):
    side, short_side = sides
    library("torchvision")
    from torchvision import transforms

    stretch = framing is Framing.STRETCH
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
    ours = preprocess(image, Preprocessing(side, short_side, framing, interpolation))
    np.testing.assert_array_equal(ours, theirs(image).numpy())


def test_cropping_first_by_hand():
    pixels = np.zeros((6, 10, 3), np.uint8)
    pixels[1:5, 3:7] = 255  # the central square of 4/6 of the shorter side
    recipe = Preprocessing(2, 3, Framing.CROP_THEN_RESIZE, mean=(0.0,) * 3, std=(1.0,) * 3)
    np.testing.assert_array_equal(preprocess(Image.fromarray(pixels), recipe), np.ones((3, 2, 2)))


def test_resizing_then_cropping_by_hand():
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 2:6] = 255
    recipe = Preprocessing(4, 4, interpolation=Interpolation.NEAREST, mean=(0.5,) * 3, std=(0.25,) * 3)
    np.testing.assert_array_equal(preprocess(Image.fromarray(pixels), recipe), np.full((3, 4, 4), 2.0))


EVERY_LEVEL = np.arange(256, dtype=np.uint8).reshape(16, 16)


@given(st.tuples(*[st.floats(0, 1)] * 3), st.tuples(*[st.floats(0.01, 2)] * 3))
def test_normalization_is_the_plain_formula_to_the_bit(mean, std):
    pixels = np.stack([EVERY_LEVEL, EVERY_LEVEL.T, EVERY_LEVEL[::-1]], axis=2)
    ours = preprocess(Image.fromarray(pixels), Preprocessing(16, 16, mean=mean, std=std))
    plain = (pixels.astype(np.float32) / np.float32(255) - np.float32(mean)) / np.float32(std)
    np.testing.assert_array_equal(ours, plain.transpose(2, 0, 1))


def test_normalization_of_gray_images_is_the_plain_formula_to_the_bit():
    ours = preprocess(Image.fromarray(EVERY_LEVEL), Preprocessing(16, 16, mean=(0.1307,), std=(0.3081,)))
    plain = (EVERY_LEVEL.astype(np.float32) / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081)
    np.testing.assert_array_equal(ours, plain[None])


def test_a_list_of_means_will_do():
    recipe = Preprocessing(4, 4, mean=[0.0] * 3, std=[1.0] * 3)
    np.testing.assert_array_equal(preprocess(Image.new("RGB", (4, 4), "white"), recipe), np.ones((3, 4, 4)))


def test_recipes_do_not_mix_their_normalizations():
    image = Image.fromarray(EVERY_LEVEL).convert("RGB")
    recipes = [Preprocessing(16, 16, mean=(level / 20,) * 3, std=(1.0,) * 3) for level in range(20)]
    once = [preprocess(image, recipe) for recipe in recipes]
    for recipe, before in zip(recipes, once, strict=True):
        np.testing.assert_array_equal(preprocess(image, recipe), before)
    assert len({one.tobytes() for one in once}) == 20
    once[0][:] = 5
    np.testing.assert_allclose(preprocess(image, recipes[0]), once[1] + np.float32(1 / 20), atol=1e-6)


def test_gray_models_see_the_lightness():
    recipe = Preprocessing(4, 4, mean=(0.0,), std=(1.0,))
    red = Image.new("RGB", (9, 5), (255, 0, 0))
    np.testing.assert_allclose(preprocess(red, recipe), np.full((1, 4, 4), 76 / 255), atol=1e-6)


def test_gray_images_are_gray_in_color():
    recipe = Preprocessing(4, 4, mean=(0.0,) * 3, std=(1.0,) * 3)
    result = preprocess(noise(6, 5, "L"), recipe)
    assert result.shape == (3, 4, 4)
    np.testing.assert_array_equal(result[0], result[2])


@pytest.mark.parametrize("framing", Framing)
def test_a_very_long_image_needs_no_huge_memory(framing, monkeypatch):
    biggest = []
    resize = Image.Image.resize

    def watched(self, size, *args, **kwargs):
        biggest.append(size[0] * size[1])
        return resize(self, size, *args, **kwargs)

    monkeypatch.setattr(Image.Image, "resize", watched)
    result = preprocess(noise(30_000, 2), Preprocessing(224, 256, framing))
    assert result.shape == (3, 224, 224) and max(biggest) <= 1 << 25


@pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
def test_the_way_for_long_images_is_near_the_usual_one(interpolation, monkeypatch):
    recipe = Preprocessing(32, 36, interpolation=interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    smooth = Image.fromarray(np.linspace(0, 255, 900).astype(np.uint8)[None].repeat(20, axis=0)).convert("RGB")
    usual = preprocess(smooth, recipe)
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MOST_PIXELS", 1)
    np.testing.assert_allclose(preprocess(smooth, recipe), usual, atol=1.01 / 255)


@given(
    shape=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    size=st.integers(1, 24),
    extra=st.integers(0, 9),
    ways=st.tuples(st.sampled_from(Framing), st.sampled_from(Interpolation)),
    by=st.sampled_from(RESIZERS),
)
@settings(deadline=None)
def test_every_image_gives_an_input_of_the_right_shape_and_range(shape, size, extra, ways, by):
    recipe = Preprocessing(size, size + extra, *ways, mean=(0.0,) * 3, std=(1.0,) * 3)
    result = preprocess(Image.new("RGB", shape, (255, 0, 51)), recipe, by)
    assert result.shape == (3, size, size) and result.dtype == np.float32 and result.flags.c_contiguous
    np.testing.assert_allclose(result, np.broadcast_to(np.float32([1, 0, 0.2])[:, None, None], result.shape), atol=1e-6)


@pytest.mark.parametrize("by", RESIZERS)
@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("size", [(50, 37), (37, 50), (36, 36), (9000, 1)], ids=str)
def test_pixels_give_what_their_image_gives(by, framing, interpolation, size, monkeypatch):
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MOST_PIXELS", 1 << 16)
    recipe = Preprocessing(32, 36, framing, interpolation)
    image = noise(*size)
    pixels = np.asarray(image).copy()
    for writable in (True, False):
        pixels.flags.writeable = writable
        np.testing.assert_array_equal(framed(pixels, recipe, by), framed(image, recipe, by))
        np.testing.assert_array_equal(pixels, np.asarray(image))
