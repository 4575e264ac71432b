"""Crop geometry: squares inside the image, rounded as torchvision rounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import CropMode, Preprocessing
from regrade.models.crop_geometry import CropGeometry, compute_crop


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
