"""Pairs by looking at candidates again: nothing within the cut of pixels is missed, whatever the thumbnails say."""

import numpy as np
import pytest
from planted import CHANGES, textures

from regrade.core import Distance, MismatchError, UnreadableImage
from regrade.neighbors import (
    Collection,
    NeighborEngine,
    dssim,
    image_pairs,
    scaled,
    signatures,
    squared_difference,
    window_moments,
)

SIZE = 64


def collection(images, size=SIZE, looks=None):
    def look(position):
        if looks is not None:
            looks.append(position)
        if isinstance(images[position], UnreadableImage):
            raise images[position]
        return images[position]

    return Collection(signatures(images, size=size), look)


def by_two_loops(first, second, measure, *, within=False):
    """The least distance of each pair, straight or mirrored."""
    own, mirrored, other = (
        [window_moments(np.ascontiguousarray(way(scaled(one, SIZE)))) for one in some]
        for some, way in ((first, lambda x: x), (first, lambda x: x[:, ::-1]), (second, lambda x: x))
    )
    return {
        (i, j): min(measure(own[i], other[j]), measure(mirrored[i], other[j]))
        for i in range(len(first))
        for j in range(i + 1 if within else 0, len(second))
    }


@pytest.fixture(scope="module")
def some():
    base = textures(14)
    changed = [np.ascontiguousarray(change(base[i])) for i, change in enumerate(CHANGES.values())]
    return base, [*changed, *textures(5, seed=9)]


@pytest.mark.parametrize("engine", [NeighborEngine.NUMPY, NeighborEngine.TORCH])
@pytest.mark.parametrize("cut", [2e6, 8e6, 3e7])
def test_no_pair_within_the_cut_of_pixels_is_missed(some, cut, engine):
    if engine is NeighborEngine.TORCH:
        pytest.importorskip("torch")
    first, second = some
    (found,) = image_pairs(
        collection(first), collection(second), cuts={Distance.PIXELS: cut}, k=len(second), engine=engine
    )
    expected = {pair: value for pair, value in by_two_loops(first, second, squared_difference).items() if value <= cut}
    measured = dict(
        zip(zip(found.first.tolist(), found.second.tolist(), strict=True), found.values.tolist(), strict=True)
    )
    assert measured == expected
    assert len(expected) >= 4
    assert found.values.tolist() == sorted(found.values.tolist())


def test_within_one_set(some):
    everything = [*some[0], *some[1]]
    pixels, structure = image_pairs(
        collection(everything), cuts={Distance.PIXELS: 8e6, Distance.DSSIM: 0.2}, k=len(everything) - 1
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


def test_only_candidates_are_seen_again_and_each_a_few_times(some):
    looks = []
    image_pairs(collection(some[0], looks=looks), collection(some[1]), cuts={Distance.PIXELS: 2e6, Distance.DSSIM: 0.1})
    assert set(looks) <= set(range(len(CHANGES) + 3))
    assert len(looks) < 3 * len(CHANGES)


def test_a_image_that_is_gone_by_then_is_told(some):
    first, second = collection(some[0]), collection(some[1])

    def gone(_):
        raise UnreadableImage("gone")

    (found,) = image_pairs(first, Collection(second.signatures, gone), cuts={Distance.PIXELS: 2e6})
    assert len(found) == 0 and "could not be seen again" in found.note


def test_unreadable_images_and_black_ones_are_not_alike():
    black = np.zeros((40, 40, 3), dtype=np.uint8)
    gone = UnreadableImage("gone")
    (found,) = image_pairs(collection([black, gone]), collection([gone, gone, black]), cuts={Distance.PIXELS: 0.0}, k=1)
    assert list(zip(found.first, found.second, strict=True)) == [(0, 2)]
    assert found.seen.tolist() == [True, False] and np.isnan(found.nearest[1])


def test_crowds_are_told():
    black = [np.zeros((40, 40, 3), dtype=np.uint8)] * 5
    (found,) = image_pairs(collection(black[:2]), collection(black), cuts={Distance.PIXELS: 10.0}, k=3)
    assert found.crowded == 2 and len(found) == 6


def test_sizes_must_agree(some):
    with pytest.raises(MismatchError, match="signed at sizes 64 and 96"):
        image_pairs(collection(some[0]), collection(some[1], size=96), cuts={Distance.PIXELS: 1.0})
