import io

import numpy as np
import pytest
from PIL import Image

from regrade.testsets.corruptions.digital import contrast, jpeg_compression, pixelate

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
