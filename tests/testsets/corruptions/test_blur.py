"""Blur corruptions, compared with slow reference implementations."""

import math

import numpy as np
import pytest
from scipy import ndimage

from regrade.testsets.corruptions.blur import (
    defocus_blur,
    glass_blur,
    motion_blur,
    motion_blurred,
    origins,
    zoom_blur,
    zoomed,
)

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (60, 48, 3), dtype=np.uint8)


@pytest.mark.parametrize(("severity", "radius"), [(1, 3), (2, 4), (3, 6)])
def test_defocus_turns_a_point_into_a_disc(severity, radius):
    point = np.zeros((65, 65, 3), dtype=np.uint8)
    point[32, 32] = 255
    got = defocus_blur(point, severity, RNG)[..., 0]
    down, right = np.nonzero(got)
    reach = np.hypot(down - 32, right - 32)
    assert radius - 1 < reach.max() < radius + 1.5  # the smoothed edge is half a pixel wider
    inside = got[np.hypot(*(np.indices(got.shape) - 32)) < radius - 1.5]
    assert inside.min() == inside.max() == int(255 / (np.hypot(*(np.indices(got.shape) - 32)) <= radius).sum())


def test_defocus_equals_a_plain_filter():
    places = np.arange(-8, 9)
    disc = (places[:, None] ** 2 + places**2 <= 9).astype(float)
    slow = ndimage.correlate(IMAGE.astype(float), disc[..., None] / disc.sum(), mode="mirror")
    np.testing.assert_array_less(np.abs(defocus_blur(IMAGE, 1, RNG) - slow), 1.01)


def slow_origins(shape: tuple[int, int], reach: int, offsets: np.ndarray) -> np.ndarray:
    """Reference: every inner pixel in turn, the last one first, becomes a copy of a neighbor."""
    source = np.arange(shape[0] * shape[1]).reshape(shape)
    for y in range(shape[0] - reach, reach, -1):
        for x in range(shape[1] - reach, reach, -1):
            down, right = offsets[:, y - reach - 1, x - reach - 1]
            source[y, x] = source[y + down, x + right]
    return source.ravel()


@pytest.mark.parametrize("reach", [1, 2, 4])
@pytest.mark.parametrize("shape", [(30, 41), (9, 9), (3, 3), (2, 5)])
def test_glass_copies_pixels_one_after_another(shape, reach):
    for seed in range(5):
        size = (2, max(shape[0] - 2 * reach, 0), max(shape[1] - 2 * reach, 0))
        offsets = np.random.default_rng(seed).integers(-reach, reach, size=size)
        np.testing.assert_array_equal(origins(shape, reach, offsets), slow_origins(shape, reach, offsets))


def test_long_chains_of_copies_are_followed_to_their_end():
    offsets = np.zeros((2, 36, 36), dtype=int)
    offsets[1] = -1
    offsets[1, :, ::2] = 0
    offsets[0] = 1  # every pixel copies a pixel of the row below, which was replaced before
    np.testing.assert_array_equal(origins((40, 40), 2, offsets), slow_origins((40, 40), 2, offsets))


def test_glass_moves_colors_by_few_pixels():
    got = glass_blur(np.full((30, 30, 3), 77, dtype=np.uint8), 5, np.random.default_rng(0))
    assert got.min() >= 75 and got.max() <= 77
    halves = np.zeros((60, 60, 3), dtype=np.uint8)
    halves[:, 30:] = 200
    got = glass_blur(halves, 1, np.random.default_rng(0))
    assert (got[:, :22] == 0).all() and (got[:, 38:] >= 198).all() and 0 < got[:, 30].mean() < 200


def test_motion_sideways_by_hand():
    row = np.array([[0, 0, 0, 1, 0, 0, 0]], dtype=np.float32)
    weights = [1, math.exp(-1 / 2), math.exp(-4 / 2)]
    got = motion_blurred(row, radius=1, sigma=1, angle=0)[0]
    expected = np.array([0, *reversed(weights), 0, 0, 0]) / sum(weights)  # the mean is over pixels to the right
    assert got == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("angle", [-45, -20.3, 0, 12, 45, -90, -135])
def test_motion_equals_a_plain_loop(angle):
    values = IMAGE[:20, :16].astype(np.float32)
    got = motion_blurred(values, radius=5, sigma=3, angle=angle)
    weights = [math.exp(-(i**2) / 18) for i in range(11)]
    slow = np.zeros_like(values)
    for y, x in np.ndindex(20, 16):
        for i, weight in enumerate(weights):
            down = y + math.ceil(i * math.sin(math.radians(angle)) - 0.5)
            right = x + math.ceil(i * math.cos(math.radians(angle)) - 0.5)
            slow[y, x] += weight * values[min(max(down, 0), 19), min(max(right, 0), 15)] / sum(weights)
    np.testing.assert_allclose(got, slow, atol=1e-3)
    np.testing.assert_allclose(motion_blurred(values[..., 0], radius=5, sigma=3, angle=angle), slow[..., 0], atol=1e-3)


def test_motion_goes_sideways_at_most_45_degrees():
    lines = np.zeros((64, 64, 3), dtype=np.uint8)
    lines[32] = 255
    for seed in range(5):
        got = motion_blur(lines, 5, np.random.default_rng(seed))
        assert got[0].max() == 0 and got[63].max() == 0  # 41 steps of at most 45 degrees stay within 29 rows
        assert (got.argmax(axis=0) == got[:, :1].argmax(axis=0)).all()


@pytest.mark.parametrize("side", [45, 46])
@pytest.mark.parametrize("factor", [1.01, 1.1, 1.3, 2, 2.5, 4.5])
def test_zoom_equals_scipy(factor, side):
    values = IMAGE[:side, :side].astype(np.float32)
    kept = math.ceil(side / factor)
    start = (side - kept) // 2
    slow = ndimage.zoom(values[start : start + kept, start : start + kept], (factor, factor, 1), order=1)
    trim = (slow.shape[0] - side) // 2
    np.testing.assert_allclose(zoomed(values, factor), slow[trim : trim + side, trim : trim + side], atol=1e-3)


def test_zoom_by_one_changes_nothing():
    np.testing.assert_array_equal(zoomed(IMAGE.astype(np.float32), 1), IMAGE)


def test_zoom_blur_leaves_the_center_sharp():
    stars = np.zeros((65, 65, 3), dtype=np.uint8)
    stars[31:34, 31:34] = stars[3:6, 3:6] = 255
    got = zoom_blur(stars, 5, RNG)
    assert got[32, 32, 0] > 240 and 0 < got[4, 4, 0] < 120
