"""Images of different sizes are resized at once as Pillow does it, within one gray level."""

import numpy as np
import pytest
from gpu_on_cpu import DecodedImage
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from regrade.core import CropMode, Interpolation, Preprocessing
from regrade.kernels import DeviceImage, Region
from regrade.models import crop_and_resize

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

SIZE = 12
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def resampled(images, regions, *, size=SIZE, bicubic=False, mean=(0, 0, 0), std=(1 / 255,) * 3, rows=None):
    """Shape (n, size, size, 3): the result, by default in gray levels."""
    from regrade.kernels.resample import resampled as resample

    output = torch.full((len(images), size, size, 3), -1.0, device=DEVICE)
    kept = [torch.from_numpy(np.ascontiguousarray(image)).to(DEVICE) for image in images]
    places = [DeviceImage(t.data_ptr(), *t.shape[:2], t.shape[1] * 3) for t in kept]
    constants = [torch.tensor(values, dtype=torch.float32, device=DEVICE) for values in (mean, std)]
    rows = list(range(len(images))) if rows is None else rows
    resample(places, regions, output, rows, bicubic=bicubic, mean=constants[0], std=constants[1])
    return output.cpu().numpy()


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def whole(image, resized=(SIZE, SIZE), keep=(0, 0)):
    return Region(0, 0, image.shape[1], image.shape[0], *resized, *keep)


@pytest.mark.parametrize("interpolation", [Interpolation.BILINEAR, Interpolation.BICUBIC])
def test_resampled_equals_pillow_within_a_gray_level(interpolation):
    """Images that shrink, grow, and keep their size. (Of tall ones, Pillow resizes the height first.)"""
    images = [noise(30, 30), noise(7, 7, 1), noise(51, 51, 2), noise(SIZE, SIZE, 3)]
    bicubic = interpolation is Interpolation.BICUBIC
    given = resampled(images, [whole(image) for image in images], bicubic=bicubic)
    kind = Image.Resampling.BICUBIC if bicubic else Image.Resampling.BILINEAR
    for image, result in zip(images, given, strict=True):
        expected = np.asarray(Image.fromarray(image).resize((SIZE, SIZE), kind)).astype(float)
        assert np.abs(result - expected).max() <= 1.001
        assert np.abs(result - np.round(result)).max() < 1e-3, "gray levels are whole numbers"


def test_resampled_by_hand():
    """Two pixels become one: their mean, rounded after each direction."""
    image = np.array([[[10] * 3, [21] * 3], [[30] * 3, [40] * 3]], dtype=np.uint8)
    (result,) = resampled([image], [whole(image, (1, 1))], size=1)
    assert result.ravel().tolist() == pytest.approx([26, 26, 26], abs=1e-3)  # (16 + 35) / 2, of 15.5 and 35


def test_resampled_normalizes_each_channel():
    image = np.full((20, 20, 3), (51, 102, 204), dtype=np.uint8)
    (result,) = resampled([image], [whole(image)], mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 0.2))
    np.testing.assert_allclose(result[3, 4], [0.2, 0.8, 2.5], atol=1e-5)


def test_resampled_fills_only_the_given_rows():
    images = [np.full((9, 9, 3), level, dtype=np.uint8) for level in (10, 20, 30)]
    result = resampled(images[:2], [whole(image) for image in images[:2]], rows=[1, 0])
    assert (result[0] == pytest.approx(20)) and (result[1] == pytest.approx(10))


@settings(max_examples=10)
@given(width=st.integers(13, 60), height=st.integers(13, 60), mode=st.sampled_from(CropMode), seed=st.integers(0, 9))
def test_resampled_regions_equal_the_crop_of_the_cpu(width, height, mode, seed):
    """Any crop mode, as the images of a GPU are cropped."""
    from regrade.models.gpu_images import _region

    preprocessing = Preprocessing(SIZE, SIZE + 3, mode)
    image = noise(height, width, seed)
    (result,) = resampled([image], [_region(height, width, preprocessing, border=0)])
    assert np.abs(result - crop_and_resize(Image.fromarray(image), preprocessing)).max() <= 1.001


def test_decoded_images_have_an_address():
    image = DecodedImage(noise(4, 5))
    from regrade.models.gpu_images import _on_device

    assert _on_device(image) == (image.pixels.ctypes.data, 4, 5, 15)
