"""Perceptual hashes are compared with scipy's cosine transform, and are robust to small changes."""

import numpy as np
import pytest
from planted import brighter, photographs, reencoded, resized, textures
from scipy import fft

from regrade.neighbors import block_means, perceptual_hashes, scaled
from regrade.neighbors.hashes import hash_bits


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
