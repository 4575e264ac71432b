"""Pillow is the reference; torch is held to it."""

import importlib.util
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import Framing, Interpolation, Preprocessing
from regrade.models import Resizer, fastest_resizer, preprocess
from regrade.models.resize import FILTERS, resize

SMOOTH = [Interpolation.BILINEAR, Interpolation.BICUBIC]


@pytest.fixture(autouse=True)
def torch(library):
    return library("torch")


def noise(width, height, *, gray=False):
    shape = (height, width) if gray else (height, width, 3)
    return Image.fromarray(np.random.default_rng(width * 1000 + height).integers(0, 256, shape, dtype=np.uint8))


def apart(one, other) -> int:
    return int(np.abs(one.astype(int) - other.astype(int)).max(initial=0))


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_pillow_is_pillow_to_the_bit(interpolation, gray):
    image = noise(50, 37, gray=gray)
    theirs = np.asarray(image.resize((21, 40), FILTERS[interpolation]))
    np.testing.assert_array_equal(resize(image, (21, 40), interpolation, Resizer.PILLOW), theirs)


lengths = st.integers(1, 70)


@given(st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH), st.booleans())
@example((38, 68), (37, 22), Interpolation.BICUBIC, False)  # here Pillow takes the columns first
@example((1, 1), (30, 2), Interpolation.BICUBIC, True)
@settings(deadline=None)
def test_torch_is_within_two_gray_levels_of_pillow_row_by_row(old, new, interpolation, gray):
    """Noise is the worst case. Rows first, as Pillow does unless the image is tall: between the two it rounds."""
    image = noise(*old, gray=gray)
    kind = FILTERS[interpolation]
    rows_first = image.resize((new[0], old[1]), kind).resize(new, kind)
    given = resize(image, new, interpolation, Resizer.TORCH)
    assert given.shape == np.asarray(rows_first).shape and given.dtype == np.uint8
    assert apart(given, np.asarray(rows_first)) <= 2


@pytest.mark.parametrize("interpolation", SMOOTH)
@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("sides", [(224, 256), (64, 64)])
def test_on_photographs_it_is_one_gray_level_and_seldom(photographs, interpolation, framing, sides):
    recipe = Preprocessing(*sides, framing, interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    wide = [image.crop((0, 60, image.width, image.height - 60)) for image in photographs.images[10:]]
    for image in photographs.images[:10] + wide:
        usual, quick = (
            np.rint(255 * preprocess(image, recipe, by)).astype(int) for by in (Resizer.PILLOW, Resizer.TORCH)
        )
        assert apart(usual, quick) <= 1
        assert (usual == quick).mean() > 0.99


@pytest.mark.parametrize("interpolation", SMOOTH)
def test_on_a_tall_photograph_it_is_a_few_and_seldom(photographs, interpolation):
    """Pillow takes the columns of a tall image first: what overshoots at an edge is cut off earlier."""
    recipe = Preprocessing(64, 64, Framing.STRETCH, interpolation, mean=(0.0,) * 3, std=(1.0,) * 3)
    for image in photographs.images[:10]:
        tall = image.crop((150, 0, 300, 512))
        usual, quick = (
            np.rint(255 * preprocess(tall, recipe, by)).astype(int) for by in (Resizer.PILLOW, Resizer.TORCH)
        )
        assert apart(usual, quick) <= (1 if interpolation is Interpolation.BILINEAR else 16)
        assert (np.abs(usual - quick) > 1).mean() < 0.01


@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_what_torch_does_not_resize_is_pillows_to_the_bit(interpolation, gray):
    image = noise(30, 20, gray=gray)
    np.testing.assert_array_equal(resize(image, (30, 20), interpolation, Resizer.TORCH), np.asarray(image))
    nearest = resize(image, (17, 44), Interpolation.NEAREST, Resizer.TORCH)
    np.testing.assert_array_equal(nearest, np.asarray(image.resize((17, 44), Image.Resampling.NEAREST)))


@given(st.integers(0, 255), st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH))
@settings(deadline=None)
def test_one_color_stays_one_color(level, old, new, interpolation):
    image = Image.new("RGB", old, (level, 255 - level, 0))
    given = resize(image, new, interpolation, Resizer.TORCH)
    np.testing.assert_array_equal(given, np.broadcast_to(np.uint8([level, 255 - level, 0]), given.shape))


def test_channels_and_axes_are_not_mixed():
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:20, :, 0], pixels[:, :30, 1] = 200, 100  # red above, green on the left
    given = resize(Image.fromarray(pixels), (6, 4), Interpolation.BILINEAR, Resizer.TORCH)
    assert given[0, 0].tolist() == [200, 100, 0] and given[3, 5].tolist() == [0, 0, 0]
    assert given[0, 5].tolist() == [200, 0, 0] and given[3, 0].tolist() == [0, 100, 0]


def test_the_image_is_left_as_it_was():
    image = noise(30, 20)
    before = np.asarray(image).copy()
    resize(image, (5, 5), Interpolation.BICUBIC, Resizer.TORCH)[:] = 0
    np.testing.assert_array_equal(np.asarray(image), before)


def test_what_resizes_is_recorded_with_its_version():
    assert Resizer.PILLOW.runtime == f"pillow {Image.__version__}"
    assert Resizer.TORCH.runtime == f"torch {version('torch')}"
    if importlib.util.find_spec("torchvision"):
        assert Resizer.GPU.runtime == f"nvjpeg of torchvision {version('torchvision')}"


def test_the_fastest_there_is(monkeypatch):
    assert fastest_resizer() is Resizer.TORCH
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else pytest.fail(name))
    assert fastest_resizer() is Resizer.PILLOW
