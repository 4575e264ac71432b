"""DSSIM is compared with scikit-image and with a calculation by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import brighter, reencoded, textures

from regrade.core import InputError
from regrade.neighbors import dssim, scaled, squared_difference, window_moments


def dssim_of(first, second, window=35):
    return dssim(window_moments(first, window=window), window_moments(second, window=window))


@pytest.mark.parametrize("window", [3, 7, 35])
def test_dssim_equals_scikit_image(window):
    structural_similarity = pytest.importorskip("skimage.metrics").structural_similarity
    images = [scaled(image, 96) for image in textures(4)]
    for first, second in ((images[0], images[1]), (images[2], reencoded(images[2])), (images[3], brighter(images[3]))):
        theirs = structural_similarity(first, second, win_size=window, channel_axis=2, data_range=255)
        assert dssim_of(first, second, window) == pytest.approx((1 - theirs) / 2, abs=1e-12)


def test_dssim_by_hand():
    # one window of two by two: means 1 and 2, sample variances 4/3 and 8/3, covariance 4/3
    first = np.array([[0, 2], [0, 2]], dtype=np.uint8)
    second = np.array([[0, 4], [2, 2]], dtype=np.uint8)
    layers = [np.repeat(channel[..., None], 3, axis=2) for channel in (first, second)]
    c1, c2 = 2.55**2, 7.65**2
    ssim = (2 * 1 * 2 + c1) * (2 * 4 / 3 + c2) / ((1 + 4 + c1) * (4 / 3 + 8 / 3 + c2))
    assert dssim_of(*layers, window=2) == pytest.approx((1 - ssim) / 2, abs=1e-15)
    assert squared_difference(*(window_moments(layer, window=2) for layer in layers)) == 3 * (0 + 4 + 4 + 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_dssim_is_symmetric_and_bounded(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 256, (2, 40, 44, 3), dtype=np.uint8)
    assert dssim_of(first, first) == 0
    assert 0 <= dssim_of(first, second) <= 1
    assert dssim_of(first, second) == pytest.approx(dssim_of(second, first), abs=1e-12)
    assert dssim_of(first[:, ::-1], second[:, ::-1]) == pytest.approx(dssim_of(first, second), abs=1e-12)
    assert dssim_of(first, 255 - first) > dssim_of(first, second)


def test_dssim_rejects_different_sizes_and_large_windows():
    small = np.zeros((30, 40, 3), dtype=np.uint8)
    with pytest.raises(InputError, match="a window of 35 does not fit an image of 40 x 30"):
        window_moments(small)
    with pytest.raises(InputError, match="must have the same size"):
        dssim(window_moments(small, window=5), window_moments(small[:20], window=5))
