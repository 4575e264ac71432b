"""Signatures: hashes of pixels, thumbnails that bound distances, and unreadable images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import brighter, photographs, reencoded, resized, textures
from scipy import fft

from regrade.core import InputError, UnreadableImage, joined_signatures
from regrade.neighbors import (
    THUMBNAIL,
    block_means,
    compute_signatures,
    perceptual_hashes,
    pixel_hash,
    scaled,
    squared_difference,
    window_moments,
)
from regrade.neighbors.signatures import hash_bits


def test_pixel_hash_depends_on_size_and_pixels():
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert pixel_hash(pixels) == pixel_hash(pixels.copy(order="F"))
    assert pixel_hash(pixels) != pixel_hash(pixels.reshape(2, 8, 3))
    changed = pixels.copy()
    changed[3, 3, 2] += 1
    assert pixel_hash(pixels) != pixel_hash(changed)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([32, 64, 96]))
def test_distance_of_thumbnails_is_a_lower_bound(seed, size):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 256, (2, size, size, 3), dtype=np.uint8)
    if rng.random() < 0.5:
        second = np.clip(first.astype(int) + rng.integers(-3, 4, first.shape), 0, 255).astype(np.uint8)
    means = [block_means(image, THUMBNAIL) for image in (first, second)]
    whole = squared_difference(*(window_moments(image, window=2) for image in (first, second)))
    block = (size // THUMBNAIL) ** 2
    assert block * ((means[0] - means[1]) ** 2).sum() <= whole * (1 + 1e-9)
    kept = compute_signatures([first, second], size=size).thumbnails.astype(float)
    rounded = np.sqrt(((kept[0] - kept[1]) ** 2).sum())
    assert block * max(rounded - np.sqrt(THUMBNAIL**2 * 3), 0) ** 2 <= whole * (1 + 1e-9)


def test_signatures_keep_unreadable_images_with_the_reason():
    images = textures(3)
    result = compute_signatures([images[0], UnreadableImage("the file is empty"), images[1]])
    assert result.unreadable == {1: "the file is empty"}
    assert result.readable.tolist() == [True, False, True]
    alone = compute_signatures([images[1]])
    assert bytes(result.pixel_hashes[2]) == bytes(alone.pixel_hashes[0]) == pixel_hash(images[1])
    assert result.areas[2] == images[1].shape[0] * images[1].shape[1]


def test_joined_signatures_equal_those_of_all_images():
    images = [*textures(4), UnreadableImage("gone"), *textures(2, seed=1)]
    whole = compute_signatures(images)
    assert joined_signatures([compute_signatures(images[:3]), compute_signatures(images[3:])]).digest == whole.digest
    assert whole[np.array([4, 0])].unreadable == {0: "gone"}
    assert whole[np.arange(7)].digest == whole.digest
    assert compute_signatures([]).thumbnails.shape == (0, THUMBNAIL, THUMBNAIL, 3)


def test_compute_signatures_rejects_invalid_arguments():
    with pytest.raises(InputError, match="multiple of 32, got 100"):
        compute_signatures([], size=100)
    with pytest.raises(InputError, match=r"bytes \(height, width, 3\)"):
        compute_signatures([np.zeros((4, 4), dtype=np.uint8)])
    with pytest.raises(InputError, match="equal image sizes"):
        joined_signatures([compute_signatures(textures(1)), compute_signatures(textures(1), size=64)])


def test_scaled_returns_an_image_of_the_common_size_unchanged():
    square = np.zeros((64, 64, 3), dtype=np.uint8)
    assert scaled(square, 64) is square
    assert scaled(np.zeros((10, 3, 3), dtype=np.uint8), 64).shape == (64, 64, 3)


def hashes(pixels):
    return perceptual_hashes(block_means(scaled(pixels), 32))


def bits_apart(first, second):
    return int(first ^ second).bit_count()


def test_hash_equals_that_of_a_full_cosine_transform():
    for pixels in textures(6):
        gray = block_means(scaled(pixels), 32) @ [0.299, 0.587, 0.114]
        low = fft.dctn(gray)[:8, :8]
        bits = "".join(str(int(bit)) for bit in (low > np.median(low)).ravel())
        assert int(hashes(pixels)[0]) == int(bits, 2)


def test_second_hash_is_that_of_the_mirror_image():
    for pixels in textures(6):
        own, mirrored = hashes(pixels)
        again = hashes(np.ascontiguousarray(scaled(pixels)[:, ::-1]))
        assert (int(again[0]), int(again[1])) == (int(mirrored), int(own))


@pytest.mark.parametrize("change", [reencoded, resized, brighter])
def test_hash_is_robust_to_small_changes(change):
    for pixels in photographs()[:8]:
        assert bits_apart(hashes(pixels)[0], hashes(change(pixels))[0]) <= 6


def test_hash_has_half_of_its_bits_set():
    for pixels in textures(6):
        assert int(hashes(pixels)[0]).bit_count() == 32


def test_hash_of_a_flat_image():
    assert hashes(np.full((40, 60, 3), 90, dtype=np.uint8)).tolist() == [1 << 63, 1 << 63]


def test_inner_products_of_bits_are_distances():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**64, 20, dtype=np.uint64)
    products = hash_bits(values) @ hash_bits(values).T
    assert ((64 - products) / 2).tolist() == [[bits_apart(int(a), int(b)) for b in values] for a in values]
