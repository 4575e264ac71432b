"""Preprocessing is bit-identical to torchvision's and works for images of any shape."""

import importlib.util
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import IMAGENET, CropMode, Interpolation, Preprocessing
from regrade.models import Resizer, crop_and_resize, fastest_resizer, gpu_decoder, preprocess
from regrade.models.preprocess import FILTERS, CropGeometry, compute_crop, resize

RESIZERS = [Resizer.PILLOW, Resizer.TORCH] if importlib.util.find_spec("torch") else [Resizer.PILLOW]
SHAPES = [(500, 375), (375, 500), (224, 224), (3, 2), (1, 1), (1, 37), (300, 7), (333, 257)]
SMOOTH = [Interpolation.BILINEAR, Interpolation.BICUBIC]


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


@pytest.mark.parametrize(
    ("image", "preprocessing", "expected"),
    [
        # 256 * 500 // 375 = 341 wide; offsets 58.5 and 16, halves round to even
        ((500, 375), Preprocessing(224, 256), CropGeometry(None, (341, 256), (58, 16, 282, 240))),
        ((375, 500), Preprocessing(224, 256), CropGeometry(None, (256, 341), (16, 58, 240, 282))),
        ((5, 3), Preprocessing(4, 4), CropGeometry(None, (6, 4), (1, 0, 5, 4))),  # 6.67 is rounded down
        ((9, 9), Preprocessing(32, 32), CropGeometry(None, (32, 32), (0, 0, 32, 32))),
        ((500, 375), Preprocessing(224, 256, CropMode.STRETCH), CropGeometry(None, (256, 256), (16, 16, 240, 240))),
        # 4 = 2/3 of the shorter side
        ((10, 6), Preprocessing(2, 3, CropMode.CROP_THEN_RESIZE), CropGeometry((3, 1, 7, 5), (2, 2), (0, 0, 2, 2))),
        ((1, 1), Preprocessing(2, 9, CropMode.CROP_THEN_RESIZE), CropGeometry((0, 0, 1, 1), (2, 2), (0, 0, 2, 2))),
    ],
)
def test_compute_crop_matches_examples_by_hand(image, preprocessing, expected):
    assert compute_crop(image, preprocessing) == expected


def test_pixels_of_a_long_image():
    assert compute_crop((30_000, 2), Preprocessing(224, 256)).pixels == 256 * 15_000 * 256


@given(
    image=st.tuples(st.integers(1, 900), st.integers(1, 900)),
    size=st.integers(1, 300),
    extra=st.integers(0, 60),
    crop_mode=st.sampled_from(CropMode),
)
def test_compute_crop_is_a_square_inside_the_image(image, size, extra, crop_mode):
    geometry = compute_crop(image, Preprocessing(size, size + extra, crop_mode))
    left, top, right, bottom = geometry.crop_after
    assert (right - left, bottom - top) == (size, size)
    assert left >= 0 and top >= 0 and right <= geometry.size[0] and bottom <= geometry.size[1]
    if geometry.crop_before is not None:
        left, top, right, bottom = geometry.crop_before
        assert right - left == bottom - top >= 1
        assert left >= 0 and top >= 0 and right <= image[0] and bottom <= image[1]


@pytest.fixture
def torch(library):
    return library("torch")


def noise_pixels(width, height, *, gray=False):
    shape = (height, width) if gray else (height, width, 3)
    return Image.fromarray(np.random.default_rng(width * 1000 + height).integers(0, 256, shape, dtype=np.uint8))


def apart(first, second) -> int:
    return int(np.abs(first.astype(int) - second.astype(int)).max(initial=0))


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_resize_by_pillow_is_bit_identical(interpolation, gray):
    image = noise_pixels(50, 37, gray=gray)
    theirs = np.asarray(image.resize((21, 40), FILTERS[interpolation]))
    np.testing.assert_array_equal(resize(image, (21, 40), interpolation, Resizer.PILLOW), theirs)


lengths = st.integers(1, 70)


@pytest.mark.usefixtures("torch")
@given(st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH), st.booleans())
@example((38, 68), (37, 22), Interpolation.BICUBIC, False)  # here Pillow resizes the columns first
@example((1, 1), (30, 2), Interpolation.BICUBIC, True)
@settings(deadline=None)
def test_resize_by_torch_is_within_two_gray_levels_of_pillow(old, new, interpolation, gray):
    """Noise is the worst case. Pillow resizes rows first unless the image is tall, and rounds in between."""
    image = noise_pixels(*old, gray=gray)
    kind = FILTERS[interpolation]
    rows_first = image.resize((new[0], old[1]), kind).resize(new, kind)
    given = resize(image, new, interpolation, Resizer.TORCH)
    assert given.shape == np.asarray(rows_first).shape and given.dtype == np.uint8
    assert apart(given, np.asarray(rows_first)) <= 2


@pytest.mark.usefixtures("torch")
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


@pytest.mark.usefixtures("torch")
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


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("interpolation", Interpolation)
@pytest.mark.parametrize("gray", [False, True])
def test_nearest_and_unchanged_sizes_are_bit_identical_to_pillow(interpolation, gray):
    image = noise_pixels(30, 20, gray=gray)
    np.testing.assert_array_equal(resize(image, (30, 20), interpolation, Resizer.TORCH), np.asarray(image))
    nearest = resize(image, (17, 44), Interpolation.NEAREST, Resizer.TORCH)
    np.testing.assert_array_equal(nearest, np.asarray(image.resize((17, 44), Image.Resampling.NEAREST)))


@pytest.mark.usefixtures("torch")
@given(st.integers(0, 255), st.tuples(lengths, lengths), st.tuples(lengths, lengths), st.sampled_from(SMOOTH))
@settings(deadline=None)
def test_resize_keeps_a_uniform_color(level, old, new, interpolation):
    image = Image.new("RGB", old, (level, 255 - level, 0))
    given = resize(image, new, interpolation, Resizer.TORCH)
    np.testing.assert_array_equal(given, np.broadcast_to(np.uint8([level, 255 - level, 0]), given.shape))


@pytest.mark.usefixtures("torch")
def test_resize_keeps_channels_and_axes_apart():
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:20, :, 0], pixels[:, :30, 1] = 200, 100  # red above, green on the left
    given = resize(Image.fromarray(pixels), (6, 4), Interpolation.BILINEAR, Resizer.TORCH)
    assert given[0, 0].tolist() == [200, 100, 0] and given[3, 5].tolist() == [0, 0, 0]
    assert given[0, 5].tolist() == [200, 0, 0] and given[3, 0].tolist() == [0, 100, 0]


@pytest.mark.usefixtures("torch")
def test_resize_does_not_change_its_input():
    image = noise_pixels(30, 20)
    before = np.asarray(image).copy()
    resize(image, (5, 5), Interpolation.BICUBIC, Resizer.TORCH)[:] = 0
    np.testing.assert_array_equal(np.asarray(image), before)


@pytest.mark.usefixtures("torch")
def test_resizer_runtime_has_the_version():
    assert Resizer.PILLOW.runtime == f"pillow {Image.__version__}"
    assert Resizer.TORCH.runtime == f"torch {version('torch')}"


def test_runtime_of_the_gpu_names_decoder_and_kernels(monkeypatch):
    installed = {"nvidia-nvimgcodec-cu12": "0.9", "triton": "3.9"}

    def version_of(package):
        if package not in installed:
            raise PackageNotFoundError(package)
        return installed[package]

    monkeypatch.setattr(sys.modules["regrade.models.preprocess"], "version", version_of)
    assert Resizer.GPU.runtime == gpu_decoder() == "nvimgcodec 0.9 and triton 3.9"
    installed.pop("triton")
    assert gpu_decoder() is None


@pytest.mark.usefixtures("torch")
def test_fastest_resizer(monkeypatch):
    assert fastest_resizer() is Resizer.TORCH
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else pytest.fail(name))
    assert fastest_resizer() is Resizer.PILLOW
