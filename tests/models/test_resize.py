"""Resizing by torch is compared with Pillow, the reference."""

import importlib.util
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import CropMode, Interpolation, Preprocessing
from regrade.models import Resizer, fastest_resizer, preprocess
from regrade.models.resize import FILTERS, resize

SMOOTH = [Interpolation.BILINEAR, Interpolation.BICUBIC]


@pytest.fixture(autouse=True)
def torch(library):
    return library("torch")


def noise(width, height, *, gray=False):
    shape = (height, width) if gray else (height, width, 3)
    return Image.fromarray(np.random.default_rng(width * 1000 + height).integers(0, 256, shape, dtype=np.uint8))


def apart(first, second) -> int:
    return int(np.abs(first.astype(int) - second.astype(int)).max(initial=0))


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_resize_by_pillow_is_bit_identical(interpolation, gray):
    image = noise(50, 37, gray=gray)
    theirs = np.asarray(image.resize((21, 40), FILTERS[interpolation]))
    np.testing.assert_array_equal(resize(image, (21, 40), interpolation, Resizer.PILLOW), theirs)


lengths = st.integers(1, 70)


@given(st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH), st.booleans())
@example((38, 68), (37, 22), Interpolation.BICUBIC, False)  # here Pillow resizes the columns first
@example((1, 1), (30, 2), Interpolation.BICUBIC, True)
@settings(deadline=None)
def test_resize_by_torch_is_within_two_gray_levels_of_pillow(old, new, interpolation, gray):
    """Noise is the worst case. Pillow resizes rows first unless the image is tall, and rounds in between."""
    image = noise(*old, gray=gray)
    kind = FILTERS[interpolation]
    rows_first = image.resize((new[0], old[1]), kind).resize(new, kind)
    given = resize(image, new, interpolation, Resizer.TORCH)
    assert given.shape == np.asarray(rows_first).shape and given.dtype == np.uint8
    assert apart(given, np.asarray(rows_first)) <= 2


@pytest.mark.parametrize("interpolation", SMOOTH)
@pytest.mark.parametrize("crop_mode", CropMode)
@pytest.mark.parametrize("sides", [(224, 256), (64, 64)])
def test_resize_by_torch_of_photographs_rarely_differs_by_one_gray_level(photographs, interpolation, crop_mode, sides):
    preprocessing = Preprocessing(*sides, crop_mode, interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    wide = [image.crop((0, 60, image.width, image.height - 60)) for image in photographs.images[10:]]
    for image in photographs.images[:10] + wide:
        usual, quick = (
            np.rint(255 * preprocess(image, preprocessing, resizer)).astype(int)
            for resizer in (Resizer.PILLOW, Resizer.TORCH)
        )
        assert apart(usual, quick) <= 1
        assert (usual == quick).mean() > 0.99


@pytest.mark.parametrize("interpolation", SMOOTH)
def test_resize_by_torch_of_tall_photographs_rarely_differs_by_more(photographs, interpolation):
    """Pillow resizes the columns of a tall image first: overshoot at edges is clipped earlier."""
    preprocessing = Preprocessing(64, 64, CropMode.STRETCH, interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    for image in photographs.images[:10]:
        tall = image.crop((150, 0, 300, 512))
        usual, quick = (
            np.rint(255 * preprocess(tall, preprocessing, resizer)).astype(int)
            for resizer in (Resizer.PILLOW, Resizer.TORCH)
        )
        assert apart(usual, quick) <= (1 if interpolation is Interpolation.BILINEAR else 16)
        assert (np.abs(usual - quick) > 1).mean() < 0.01


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_nearest_and_unchanged_sizes_are_bit_identical_to_pillow(interpolation, gray):
    image = noise(30, 20, gray=gray)
    np.testing.assert_array_equal(resize(image, (30, 20), interpolation, Resizer.TORCH), np.asarray(image))
    nearest = resize(image, (17, 44), Interpolation.NEAREST, Resizer.TORCH)
    np.testing.assert_array_equal(nearest, np.asarray(image.resize((17, 44), Image.Resampling.NEAREST)))


@given(st.integers(0, 255), st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH))
@settings(deadline=None)
def test_resize_keeps_a_uniform_color(level, old, new, interpolation):
    image = Image.new("RGB", old, (level, 255 - level, 0))
    given = resize(image, new, interpolation, Resizer.TORCH)
    np.testing.assert_array_equal(given, np.broadcast_to(np.uint8([level, 255 - level, 0]), given.shape))


def test_resize_keeps_channels_and_axes_apart():
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:20, :, 0], pixels[:, :30, 1] = 200, 100  # red above, green on the left
    given = resize(Image.fromarray(pixels), (6, 4), Interpolation.BILINEAR, Resizer.TORCH)
    assert given[0, 0].tolist() == [200, 100, 0] and given[3, 5].tolist() == [0, 0, 0]
    assert given[0, 5].tolist() == [200, 0, 0] and given[3, 0].tolist() == [0, 100, 0]


def test_resize_does_not_change_its_input():
    image = noise(30, 20)
    before = np.asarray(image).copy()
    resize(image, (5, 5), Interpolation.BICUBIC, Resizer.TORCH)[:] = 0
    np.testing.assert_array_equal(np.asarray(image), before)


def test_resizer_runtime_has_the_version():
    assert Resizer.PILLOW.runtime == f"pillow {Image.__version__}"
    assert Resizer.TORCH.runtime == f"torch {version('torch')}"
    if importlib.util.find_spec("torchvision"):
        assert Resizer.GPU.runtime == f"nvjpeg of torchvision {version('torchvision')}"


def test_fastest_resizer(monkeypatch):
    assert fastest_resizer() is Resizer.TORCH
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else pytest.fail(name))
    assert fastest_resizer() is Resizer.PILLOW
