"""Decoded candidates: DSSIM against scikit-image and by hand; no pair within the threshold of pixels is missed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import CHANGES, brighter, reencoded, textures

from regrade.core import Distance, InputError, MismatchError, UnreadableImage
from regrade.neighbors import (
    ImageCollection,
    NeighborEngine,
    compute_signatures,
    dssim,
    image_pairs,
    scaled,
    squared_difference,
    window_moments,
)

SIZE = 64


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


def collection(images, size=SIZE, looks=None):
    def look(position):
        if looks is not None:
            looks.append(position)
        if isinstance(images[position], UnreadableImage):
            raise images[position]
        return images[position]

    return ImageCollection(compute_signatures(images, size=size), look)


def by_two_loops(first, second, measure, *, within=False):
    """The smallest distance of each pair, mirrored or not."""
    own, mirrored, references = (
        [window_moments(np.ascontiguousarray(view(scaled(image, SIZE)))) for image in images]
        for images, view in ((first, lambda x: x), (first, lambda x: x[:, ::-1]), (second, lambda x: x))
    )
    return {
        (i, j): min(measure(own[i], references[j]), measure(mirrored[i], references[j]))
        for i in range(len(first))
        for j in range(i + 1 if within else 0, len(second))
    }


@pytest.fixture(scope="module")
def image_sets():
    base = textures(14)
    changed = [np.ascontiguousarray(change(base[i])) for i, change in enumerate(CHANGES.values())]
    return base, [*changed, *textures(5, seed=9)]


@pytest.mark.parametrize("engine", [NeighborEngine.NUMPY, NeighborEngine.TORCH])
@pytest.mark.parametrize("threshold", [2e6, 8e6, 3e7])
def test_image_pairs_misses_no_pair_within_the_threshold(image_sets, threshold, engine):
    if engine is NeighborEngine.TORCH:
        pytest.importorskip("torch")
    first, second = image_sets
    (pairs,) = image_pairs(
        collection(first), collection(second), thresholds={Distance.PIXELS: threshold}, k=len(second), engine=engine
    )
    distances = by_two_loops(first, second, squared_difference)
    expected = {pair: value for pair, value in distances.items() if value <= threshold}
    measured = dict(
        zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.values.tolist(), strict=True)
    )
    assert measured == expected
    assert len(expected) >= 4
    assert pairs.values.tolist() == sorted(pairs.values.tolist())


def test_image_pairs_within_one_set(image_sets):
    everything = [*image_sets[0], *image_sets[1]]
    pixels, structure = image_pairs(
        collection(everything), thresholds={Distance.PIXELS: 8e6, Distance.DSSIM: 0.2}, k=len(everything) - 1
    )
    expected = by_two_loops(everything, everything, squared_difference, within=True)
    assert set(zip(pixels.first.tolist(), pixels.second.tolist(), strict=True)) == {
        pair for pair, value in expected.items() if value <= 8e6
    }
    by_structure = by_two_loops(everything, everything, dssim, within=True)
    assert set(zip(structure.first.tolist(), structure.second.tolist(), strict=True)) == {
        pair for pair, value in by_structure.items() if value <= 0.2
    }
    assert structure.nearest[0] == pytest.approx(0) and np.isnan(structure.nearest).any()


def test_image_pairs_decodes_only_candidates(image_sets):
    looks = []
    first, second = collection(image_sets[0], looks=looks), collection(image_sets[1])
    image_pairs(first, second, thresholds={Distance.PIXELS: 2e6, Distance.DSSIM: 0.1})
    assert set(looks) <= set(range(len(CHANGES) + 3))
    assert len(looks) < 3 * len(CHANGES)


def test_image_pairs_notes_images_that_are_gone(image_sets):
    first, second = collection(image_sets[0]), collection(image_sets[1])

    def gone(_):
        raise UnreadableImage("gone")

    (pairs,) = image_pairs(first, ImageCollection(second.signatures, gone), thresholds={Distance.PIXELS: 2e6})
    assert len(pairs) == 0 and "could not be read again" in pairs.note


def test_image_pairs_does_not_match_unreadable_images():
    black = np.zeros((40, 40, 3), dtype=np.uint8)
    gone = UnreadableImage("gone")
    first, second = collection([black, gone]), collection([gone, gone, black])
    (pairs,) = image_pairs(first, second, thresholds={Distance.PIXELS: 0.0}, k=1)
    assert list(zip(pairs.first, pairs.second, strict=True)) == [(0, 2)]
    assert pairs.seen.tolist() == [True, False] and np.isnan(pairs.nearest[1])


def test_image_pairs_counts_crowded_images():
    black = [np.zeros((40, 40, 3), dtype=np.uint8)] * 5
    (pairs,) = image_pairs(collection(black[:2]), collection(black), thresholds={Distance.PIXELS: 10.0}, k=3)
    assert pairs.crowded == 2 and len(pairs) == 6


def test_image_pairs_rejects_different_sizes(image_sets):
    with pytest.raises(MismatchError, match="signatures at sizes 64 and 96"):
        image_pairs(collection(image_sets[0]), collection(image_sets[1], size=96), thresholds={Distance.PIXELS: 1.0})
