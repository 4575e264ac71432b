"""Write digits to a Parquet file with embedded images, like any other test set."""

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
"""Groups by the fraction of ink: thirds of the training digits."""


def write_images(path: Path, digits: Digits, *, thresholds: FloatArray) -> None:
    """Write ids, images, labels and the group column ``ink``, split at two thresholds."""
    ink = np.searchsorted(thresholds, ink_fractions(digits.inputs()), side="right")
    columns = {
        "id": digits.ids,
        "image": [_png(image) for image in digits.images],
        "label": digits.labels,
        "ink": [INK[i] for i in ink],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def ink_thresholds(inputs: FloatArray) -> FloatArray:
    """The two fractions of ink that split these digits into thirds."""
    return np.quantile(ink_fractions(inputs), [1 / 3, 2 / 3])


def ink_fractions(inputs: FloatArray) -> FloatArray:
    """The fraction of ink of each digit."""
    return inputs.mean(axis=1)


def _png(image: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG")
    return file.getvalue()
