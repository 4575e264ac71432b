"""Signatures: hashes of pixels, thumbnails that bound distances, and unreadable images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import textures

from regrade.core import InputError, UnreadableImage, joined_signatures
from regrade.neighbors import (
    THUMBNAIL,
    block_means,
    pixel_hash,
    scaled,
    signatures,
    squared_difference,
    window_moments,
)


def test_a_hash_is_of_size_and_pixels():
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert pixel_hash(pixels) == pixel_hash(pixels.copy(order="F"))
    assert pixel_hash(pixels) != pixel_hash(pixels.reshape(2, 8, 3))
    other = pixels.copy()
    other[3, 3, 2] += 1
    assert pixel_hash(pixels) != pixel_hash(other)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([32, 64, 96]))
def test_thumbnails_are_never_further_apart_than_the_images(seed, size):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 256, (2, size, size, 3), dtype=np.uint8)
    if rng.random() < 0.5:
        second = np.clip(first.astype(int) + rng.integers(-3, 4, first.shape), 0, 255).astype(np.uint8)
    means = [block_means(one, THUMBNAIL) for one in (first, second)]
    whole = squared_difference(*(window_moments(one, window=2) for one in (first, second)))
    block = (size // THUMBNAIL) ** 2
    assert block * ((means[0] - means[1]) ** 2).sum() <= whole * (1 + 1e-9)
    kept = signatures([first, second], size=size).thumbnails.astype(float)
    rounded = np.sqrt(((kept[0] - kept[1]) ** 2).sum())
    assert block * max(rounded - np.sqrt(THUMBNAIL**2 * 3), 0) ** 2 <= whole * (1 + 1e-9)


def test_unreadable_images_keep_their_place_and_reason():
    some = textures(3)
    found = signatures([some[0], UnreadableImage("the file is empty"), some[1]])
    assert found.unreadable == {1: "the file is empty"}
    assert found.readable.tolist() == [True, False, True]
    alone = signatures([some[1]])
    assert bytes(found.pixel_hashes[2]) == bytes(alone.pixel_hashes[0]) == pixel_hash(some[1])
    assert found.areas[2] == some[1].shape[0] * some[1].shape[1]


def test_one_by_one_is_all_at_once():
    some = [*textures(4), UnreadableImage("gone"), *textures(2, seed=1)]
    whole = signatures(some)
    assert joined_signatures([signatures(some[:3]), signatures(some[3:])]).digest == whole.digest
    assert whole[np.array([4, 0])].unreadable == {0: "gone"}
    assert whole[np.arange(7)].digest == whole.digest
    assert signatures([]).thumbnails.shape == (0, THUMBNAIL, THUMBNAIL, 3)


def test_refusals():
    with pytest.raises(InputError, match="multiple of 32, got 100"):
        signatures([], size=100)
    with pytest.raises(InputError, match=r"bytes \(height, width, 3\)"):
        signatures([np.zeros((4, 4), dtype=np.uint8)])
    with pytest.raises(InputError, match="of one size"):
        joined_signatures([signatures(textures(1)), signatures(textures(1), size=64)])


def test_a_image_of_the_common_size_is_left_as_it_is():
    square = np.zeros((64, 64, 3), dtype=np.uint8)
    assert scaled(square, 64) is square
    assert scaled(np.zeros((10, 3, 3), dtype=np.uint8), 64).shape == (64, 64, 3)
