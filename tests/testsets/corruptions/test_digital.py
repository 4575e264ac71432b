import io

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from regrade.testsets.corruptions import digital
from regrade.testsets.corruptions.digital import contrast, elastic_transform, jpeg_compression, pixelate, smoothed

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (60, 48, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("severity", "expected"), [(1, [60, 140]), (2, [70, 130]), (3, [80, 120]), (4, [90, 110]), (5, [95, 105])]
)
def test_contrast_by_hand(severity, expected):
    pair = np.array([[[0, 200, 7], [200, 0, 7]]], dtype=np.uint8)
    assert contrast(pair, severity, RNG).tolist() == [[[a, b, 7] for a, b in (expected, expected[::-1])]]


def test_pixelate_by_hand():
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4)[..., None] * np.array([10, 1, 0], dtype=np.uint8)
    got = pixelate(pixels, 2, RNG)  # blocks of two by two, each its mean
    assert got[..., 0].tolist() == [[25, 25, 45, 45], [25, 25, 45, 45], [105, 105, 125, 125], [105, 105, 125, 125]]
    assert got[0, 0, 1] in (2, 3) and not got[..., 2].any()


@pytest.mark.parametrize(("severity", "blocks"), [(1, 28), (3, 19), (5, 12)])
def test_pixelate_number_of_distinct_pixels(severity, blocks):
    wide = np.arange(48, dtype=np.uint8)[None, :, None].repeat(10, 0).repeat(3, 2) * 5
    assert len(np.unique(pixelate(wide, severity, RNG)[0, :, 0])) == blocks


@pytest.mark.parametrize(("severity", "quality"), [(1, 25), (2, 18), (3, 15), (4, 10), (5, 7)])
def test_jpeg_equals_pillow(severity, quality):
    file = io.BytesIO()
    Image.fromarray(IMAGE).save(file, "JPEG", quality=quality)
    np.testing.assert_array_equal(jpeg_compression(IMAGE, severity, RNG), np.asarray(Image.open(file)))


@pytest.mark.parametrize("sigma", [0.5, 2.44, 19.52, 170.8])
@pytest.mark.parametrize("shape", [(60, 48), (7, 90), (1, 1)])
def test_smoothing_equals_a_plain_filter(shape, sigma):
    values = np.random.default_rng(1).uniform(-1, 1, shape)
    slow = ndimage.gaussian_filter(values, sigma, mode="reflect", truncate=3)
    np.testing.assert_allclose(smoothed(values, sigma), slow, atol=1e-12)


def rubber(monkeypatch, *parameters: float) -> None:
    monkeypatch.setattr(digital, "_RUBBER", (parameters,))


def test_elastic_transform_without_displacement_changes_nothing(monkeypatch):
    rubber(monkeypatch, 0, 1, 0)
    np.testing.assert_array_equal(elastic_transform(IMAGE, 1, np.random.default_rng(0)), IMAGE)


def test_affine_map_moves_three_points(monkeypatch):
    """Bright spots at the three points appear at their moved positions."""
    rubber(monkeypatch, 0, 1, 8)
    image = np.zeros((100, 100, 3), dtype=np.uint8)
    points = 50 + 33 * np.array([[1, 1], [1, -1], [-1, -1]])
    for y, x in points:
        image[y - 1 : y + 2, x - 1 : x + 2] = 255
    got = elastic_transform(image, 1, np.random.default_rng(5))[..., 0].astype(float)
    moved = points + np.random.default_rng(5).uniform(-8, 8, points.shape)
    for y, x in moved:
        window = got[int(y) - 5 : int(y) + 7, int(x) - 5 : int(x) + 7]
        result = np.array(ndimage.center_of_mass(window)) + np.array([int(y) - 5, int(x) - 5])
        np.testing.assert_allclose(result, (y, x), atol=0.3)


def test_displacements_have_the_published_size(monkeypatch):
    """On a gradient of one level per pixel, the difference of levels equals the displacement."""
    rubber(monkeypatch, 29.28, 2.44, 0)
    slope = np.broadcast_to(np.arange(200, dtype=np.uint8)[:, None, None], (200, 200, 3)).copy()
    got = elastic_transform(slope, 1, np.random.default_rng(0)).astype(float)
    moves = (got - slope)[20:-20, 20:-20, 0] + 0.5
    # a Gaussian filter reduces the variance of uniform noise by 4 pi sigma squared
    assert moves.std() == pytest.approx(29.28 * np.sqrt(1 / 3 / (4 * np.pi * 2.44**2)), rel=0.1)
