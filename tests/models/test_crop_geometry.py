"""The part of a image that a model sees, in numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import Framing, Preprocessing
from regrade.models.crop_geometry import CropGeometry, frame_of


@pytest.mark.parametrize(
    ("image", "recipe", "expected"),
    [
        # 256 * 500 // 375 = 341 wide; 58.5 and 16 to the left and above, halves to the even number
        ((500, 375), Preprocessing(224, 256), CropGeometry(None, (341, 256), (58, 16, 282, 240))),
        ((375, 500), Preprocessing(224, 256), CropGeometry(None, (256, 341), (16, 58, 240, 282))),
        ((5, 3), Preprocessing(4, 4), CropGeometry(None, (6, 4), (1, 0, 5, 4))),  # 6.67 is cut down
        ((9, 9), Preprocessing(32, 32), CropGeometry(None, (32, 32), (0, 0, 32, 32))),
        ((500, 375), Preprocessing(224, 256, Framing.STRETCH), CropGeometry(None, (256, 256), (16, 16, 240, 240))),
        # 4 = 2/3 of the shorter side
        ((10, 6), Preprocessing(2, 3, Framing.CROP_THEN_RESIZE), CropGeometry((3, 1, 7, 5), (2, 2), (0, 0, 2, 2))),
        ((1, 1), Preprocessing(2, 9, Framing.CROP_THEN_RESIZE), CropGeometry((0, 0, 1, 1), (2, 2), (0, 0, 2, 2))),
    ],
)
def test_by_hand(image, recipe, expected):
    assert frame_of(image, recipe) == expected


def test_a_long_image_has_many_pixels():
    assert frame_of((30_000, 2), Preprocessing(224, 256)).pixels == 256 * 15_000 * 256


@given(
    image=st.tuples(st.integers(1, 900), st.integers(1, 900)),
    size=st.integers(1, 300),
    extra=st.integers(0, 60),
    framing=st.sampled_from(Framing),
)
def test_what_is_seen_is_a_square_inside_the_image(image, size, extra, framing):
    frame = frame_of(image, Preprocessing(size, size + extra, framing))
    left, top, right, bottom = frame.then
    assert (right - left, bottom - top) == (size, size)
    assert left >= 0 and top >= 0 and right <= frame.size[0] and bottom <= frame.size[1]
    if frame.first is not None:
        left, top, right, bottom = frame.first
        assert right - left == bottom - top >= 1
        assert left >= 0 and top >= 0 and right <= image[0] and bottom <= image[1]
