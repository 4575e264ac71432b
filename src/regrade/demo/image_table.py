"""Digits as a Parquet file with their images inside, as any other collection of images may come."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

from regrade.core.arrays import FloatArray
from regrade.demo.digits import Digits

INK = ("light", "medium", "heavy")
"""How much of a digit is ink: the thirds of the digits that classifiers are trained on."""


def write_images(path: Path, digits: Digits, *, cuts: FloatArray) -> None:
    """Write a test set's file: ids, images, labels and the group ``ink``, divided at two shares of ink."""
    ink = np.searchsorted(cuts, shares_of_ink(digits.inputs()), side="right")
    columns = {
        "id": digits.ids,
        "image": [_png(image) for image in digits.images],
        "label": digits.labels,
        "ink": [INK[i] for i in ink],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def ink_cuts(inputs: FloatArray) -> FloatArray:
    """The two shares of ink that divide these digits into thirds."""
    return np.quantile(shares_of_ink(inputs), [1 / 3, 2 / 3])


def shares_of_ink(inputs: FloatArray) -> FloatArray:
    """How much of each digit's square is ink."""
    return inputs.mean(axis=1)


def _png(image: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG")
    return file.getvalue()
