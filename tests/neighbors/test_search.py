"""Pairs by pixel hashes, perceptual hashes and features, between two sets and within one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import flipped, textures

from regrade.core import Distance, InputError, MismatchError, NearPairs, Signatures, UnreadableImage
from regrade.neighbors import compute_signatures, exact_pairs, feature_pairs, phash_pairs


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


def test_exact_pairs_between_two_sets():
    pairs = exact_pairs(of_numbers([1, 2, 3, 2]), of_numbers([2, 9, 1, 2]))
    assert plain(pairs) == [(0, 2), (1, 0), (1, 3), (3, 0), (3, 3)]
    assert pairs.distance is Distance.EXACT and not pairs.values.any() and not pairs.mirrored.any()
    assert pairs.nearest.tolist()[:2] == [0, 0] and np.isnan(pairs.nearest[2])


def test_exact_pairs_within_one_set():
    pairs = exact_pairs(of_numbers([5, 1, 5, 5, 2, 1]))
    assert plain(pairs) == [(0, 2), (0, 3), (1, 5), (2, 3)]
    assert np.isnan(pairs.nearest).tolist() == [False, False, False, False, True, False]


def test_exact_pairs_lists_at_most_k_and_counts_crowded_images():
    pairs = exact_pairs(of_numbers([7, 7]), of_numbers([7] * 9), k=4)
    assert plain(pairs) == [(i, j) for i in range(2) for j in range(4)]
    assert pairs.crowded == 2
    chain = exact_pairs(of_numbers([7] * 5), k=1)
    assert plain(chain) == [(0, 1), (1, 2), (2, 3), (3, 4)]  # still one group
    assert chain.crowded == 3


def test_exact_pairs_ignores_unreadable_images():
    pairs = exact_pairs(of_numbers([4, 4, 4], unreadable=[1]), of_numbers([4, 4], unreadable=[0]))
    assert plain(pairs) == [(0, 1), (2, 1)]
    assert pairs.seen.tolist() == [True, False, True]
    assert plain(exact_pairs(of_numbers([4, 4, 4], unreadable=[1]))) == [(0, 2)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 4), max_size=12), st.booleans())
def test_exact_pairs_equals_two_loops(first, second, within):
    if within:
        pairs = exact_pairs(of_numbers(first), k=20)
        expected = [(i, j) for i in range(len(first)) for j in range(i + 1, len(first)) if first[i] == first[j]]
    else:
        pairs = exact_pairs(of_numbers(first), of_numbers(second), k=20)
        expected = [(i, j) for i in range(len(first)) for j in range(len(second)) if first[i] == second[j]]
    assert plain(pairs) == expected


def test_phash_pairs_finds_mirror_images():
    images = textures(12)
    planted = [*images[:3], *(np.ascontiguousarray(flipped(image)) for image in images[3:6]), UnreadableImage("gone")]
    pairs = phash_pairs(compute_signatures(planted), compute_signatures(images), threshold=4)
    assert sorted(plain(pairs)) == [(i, i) for i in range(6)]
    by_first = dict(zip(pairs.first.tolist(), pairs.mirrored.tolist(), strict=True))
    assert [by_first[i] for i in range(6)] == [False, False, False, True, True, True]
    assert pairs.seen.tolist() == [True] * 6 + [False] and np.isnan(pairs.nearest[6])
    assert pairs.nearest[:6].tolist() == [0] * 6


def test_phash_pairs_within_one_set_equals_two_loops():
    rng = np.random.default_rng(4)
    hashes = rng.integers(0, 2**64, (60, 2), dtype=np.uint64)
    hashes[30:] = hashes[:30] ^ rng.integers(0, 2**4, (30, 2), dtype=np.uint64)
    rows = of_numbers([0] * 60)
    signatures = Signatures(32, rows.pixel_hashes, hashes, rows.thumbnails, rows.areas)
    pairs = phash_pairs(signatures, threshold=9, k=59)

    def apart(i, j):
        differences = (hashes[i, 0] ^ hashes[j, 0], hashes[i, 1] ^ hashes[j, 0], hashes[j, 1] ^ hashes[i, 0])
        return min(int(bits).bit_count() for bits in differences)

    expected = {(i, j): apart(i, j) for i in range(60) for j in range(i + 1, 60) if apart(i, j) <= 9}
    assert dict(zip(plain(pairs), pairs.values.tolist(), strict=True)) == expected
    assert len(expected) >= 30


def test_feature_pairs_by_cosine():
    first = np.array([[1, 0], [0, 2], [np.nan, 1], [0, 0]], dtype=np.float16)
    second = np.array([[3, 0], [1, 1], [0, 0]], dtype=np.float32)
    pairs = feature_pairs(first, second, threshold=0.3, note="of m")
    assert plain(pairs) == [(0, 0), (0, 1), (1, 1)]
    np.testing.assert_allclose(pairs.values, [0, 1 - np.sqrt(0.5), 1 - np.sqrt(0.5)], atol=1e-12)
    assert pairs.seen.tolist() == [True, True, False, False] and pairs.note == "of m"
    assert plain(feature_pairs(first, threshold=1.5)) == [(0, 1)]
    with pytest.raises(MismatchError, match="features of 2 and of 3 numbers"):
        feature_pairs(first, np.zeros((2, 3)), threshold=0.1)


def test_near_pairs_are_checked():
    none, all_seen = np.zeros(0), np.ones(2, dtype=bool)
    with pytest.raises(InputError, match="above the threshold of 1"):
        NearPairs(
            Distance.PHASH, 1.0, np.array([0]), np.array([0]), np.array([2.0]), np.array([False]), all_seen, all_seen
        )
    with pytest.raises(InputError, match="must have the same length"):
        NearPairs(Distance.PHASH, 1.0, np.array([0]), none, none, none, all_seen, all_seen)
    with pytest.raises(InputError, match="one entry per image"):
        NearPairs(Distance.PHASH, 1.0, none, none, none, none, all_seen, none)
