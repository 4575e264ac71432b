"""Pairs by what is kept of images: exact twins, perceptual hashes and features, between sets and within one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import flipped, textures

from regrade.core import Distance, InputError, MismatchError, NearPairs, Signatures, UnreadableImage
from regrade.neighbors import exact_pairs, feature_pairs, phash_pairs, signatures


def plain(pairs):
    return list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))


def of_numbers(numbers, unreadable=()):
    """Signatures whose pixel hashes are the given numbers."""
    rows = len(numbers)
    hashes = np.zeros((rows, 16), dtype=np.uint8)
    hashes[:, 3] = numbers
    return Signatures(
        32, hashes, np.zeros((rows, 2), np.uint64), np.zeros((rows, 16, 16, 3), np.uint8), np.ones(rows, np.int64),
        dict.fromkeys(unreadable, "gone"),
    )  # fmt: skip


def test_exact_twins_between_two_sets():
    found = exact_pairs(of_numbers([1, 2, 3, 2]), of_numbers([2, 9, 1, 2]))
    assert plain(found) == [(0, 2), (1, 0), (1, 3), (3, 0), (3, 3)]
    assert found.distance is Distance.EXACT and not found.values.any() and not found.mirrored.any()
    assert found.found.tolist() == [True, True, False, True]
    assert found.nearest.tolist()[:2] == [0, 0] and np.isnan(found.nearest[2])


def test_exact_twins_within_one_set():
    found = exact_pairs(of_numbers([5, 1, 5, 5, 2, 1]))
    assert plain(found) == [(0, 2), (0, 3), (1, 5), (2, 3)]
    assert np.isnan(found.nearest).tolist() == [False, False, False, False, True, False]


def test_of_very_many_twins_some_are_listed_and_the_rest_is_told():
    found = exact_pairs(of_numbers([7, 7]), of_numbers([7] * 9), k=4)
    assert plain(found) == [(i, j) for i in range(2) for j in range(4)]
    assert found.crowded == 2
    chain = exact_pairs(of_numbers([7] * 5), k=1)
    assert plain(chain) == [(0, 1), (1, 2), (2, 3), (3, 4)]  # still one group
    assert chain.crowded == 3


def test_unreadable_images_are_no_twins():
    found = exact_pairs(of_numbers([4, 4, 4], unreadable=[1]), of_numbers([4, 4], unreadable=[0]))
    assert plain(found) == [(0, 1), (2, 1)]
    assert found.seen.tolist() == [True, False, True]
    assert plain(exact_pairs(of_numbers([4, 4, 4], unreadable=[1]))) == [(0, 2)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 4), max_size=12), st.booleans())
def test_as_by_two_loops(first, second, within):
    if within:
        found = exact_pairs(of_numbers(first), k=20)
        expected = [(i, j) for i in range(len(first)) for j in range(i + 1, len(first)) if first[i] == first[j]]
    else:
        found = exact_pairs(of_numbers(first), of_numbers(second), k=20)
        expected = [(i, j) for i in range(len(first)) for j in range(len(second)) if first[i] == second[j]]
    assert plain(found) == expected


def test_perceptual_hashes_find_mirror_images():
    some = textures(12)
    planted = [*some[:3], *(np.ascontiguousarray(flipped(one)) for one in some[3:6]), UnreadableImage("gone")]
    found = phash_pairs(signatures(planted), signatures(some), cut=4)
    assert sorted(plain(found)) == [(i, i) for i in range(6)]
    by_first = dict(zip(found.first.tolist(), found.mirrored.tolist(), strict=True))
    assert [by_first[i] for i in range(6)] == [False, False, False, True, True, True]
    assert found.seen.tolist() == [True] * 6 + [False] and np.isnan(found.nearest[6])
    assert found.nearest[:6].tolist() == [0] * 6


def test_perceptual_hashes_within_one_set_are_as_by_two_loops():
    rng = np.random.default_rng(4)
    hashes = rng.integers(0, 2**64, (60, 2), dtype=np.uint64)
    hashes[30:] = hashes[:30] ^ rng.integers(0, 2**4, (30, 2), dtype=np.uint64)
    rows = of_numbers([0] * 60)
    some = Signatures(32, rows.pixel_hashes, hashes, rows.thumbnails, rows.areas)
    found = phash_pairs(some, cut=9, k=59)

    def apart(i, j):
        ways = (hashes[i, 0] ^ hashes[j, 0], hashes[i, 1] ^ hashes[j, 0], hashes[j, 1] ^ hashes[i, 0])
        return min(int(way).bit_count() for way in ways)

    expected = {(i, j): apart(i, j) for i in range(60) for j in range(i + 1, 60) if apart(i, j) <= 9}
    assert dict(zip(plain(found), found.values.tolist(), strict=True)) == expected
    assert len(expected) >= 30


def test_features_by_cosine():
    first = np.array([[1, 0], [0, 2], [np.nan, 1], [0, 0]], dtype=np.float16)
    second = np.array([[3, 0], [1, 1], [0, 0]], dtype=np.float32)
    found = feature_pairs(first, second, cut=0.3, note="of m")
    assert plain(found) == [(0, 0), (0, 1), (1, 1)]
    np.testing.assert_allclose(found.values, [0, 1 - np.sqrt(0.5), 1 - np.sqrt(0.5)], atol=1e-12)
    assert found.seen.tolist() == [True, True, False, False] and found.note == "of m"
    assert plain(feature_pairs(first, cut=1.5)) == [(0, 1)]
    with pytest.raises(MismatchError, match="features of 2 and of 3 numbers"):
        feature_pairs(first, np.zeros((2, 3)), cut=0.1)


def test_pairs_are_checked():
    none, all_seen = np.zeros(0), np.ones(2, dtype=bool)
    with pytest.raises(InputError, match="above the threshold of 1"):
        NearPairs(
            Distance.PHASH, 1.0, np.array([0]), np.array([0]), np.array([2.0]), np.array([False]), all_seen, all_seen
        )
    with pytest.raises(InputError, match="must have the same length"):
        NearPairs(Distance.PHASH, 1.0, np.array([0]), none, none, none, all_seen, all_seen)
    with pytest.raises(InputError, match="one entry per image"):
        NearPairs(Distance.PHASH, 1.0, none, none, none, none, all_seen, none)
