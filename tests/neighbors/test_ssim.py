"""DSSIM: against scikit-image, by hand, and what it must be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import brighter, reencoded, textures

from regrade.core import InputError
from regrade.neighbors import dssim, scaled, squared_difference, window_moments


def of(first, second, window=35):
    return dssim(window_moments(first, window=window), window_moments(second, window=window))


@pytest.mark.parametrize("window", [3, 7, 35])
def test_as_in_scikit_image(window):
    structural_similarity = pytest.importorskip("skimage.metrics").structural_similarity
    some = [scaled(one, 96) for one in textures(4)]
    for first, second in ((some[0], some[1]), (some[2], reencoded(some[2])), (some[3], brighter(some[3]))):
        theirs = structural_similarity(first, second, win_size=window, channel_axis=2, data_range=255)
        assert of(first, second, window) == pytest.approx((1 - theirs) / 2, abs=1e-12)


def test_by_hand():
    # one window of two by two: means 1 and 2, sample variances 4/3 and 8/3, covariance 4/3
    first = np.array([[0, 2], [0, 2]], dtype=np.uint8)
    second = np.array([[0, 4], [2, 2]], dtype=np.uint8)
    layers = [np.repeat(one[..., None], 3, axis=2) for one in (first, second)]
    c1, c2 = 2.55**2, 7.65**2
    similar = (2 * 1 * 2 + c1) * (2 * 4 / 3 + c2) / ((1 + 4 + c1) * (4 / 3 + 8 / 3 + c2))
    assert of(*layers, window=2) == pytest.approx((1 - similar) / 2, abs=1e-15)
    assert squared_difference(*(window_moments(one, window=2) for one in layers)) == 3 * (0 + 4 + 4 + 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_what_it_must_be(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 256, (2, 40, 44, 3), dtype=np.uint8)
    assert of(first, first) == 0
    assert 0 <= of(first, second) <= 1
    assert of(first, second) == pytest.approx(of(second, first), abs=1e-12)
    assert of(first[:, ::-1], second[:, ::-1]) == pytest.approx(of(first, second), abs=1e-12)
    assert of(first, 255 - first) > of(first, second)


def test_refusals():
    small = np.zeros((30, 40, 3), dtype=np.uint8)
    with pytest.raises(InputError, match="a window of 35 does not fit a image of 40 x 30"):
        window_moments(small)
    with pytest.raises(InputError, match="at one size"):
        dssim(window_moments(small, window=5), window_moments(small[:20], window=5))
