"""The multi-label annotations of ImageNet, version 3: an optional file, published apart from the papers' other data.

Shankar et al. 2020 made the annotations, Vasudevan et al. 2022 revised and published them as version 3. The original
labels of the images and the predictions of models are those of recht2019, in a folder of this name in the data or next
to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from regrade.classes import imagenet_1k
from regrade.core import UNLABELED, FormatError, LabelSet, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.formats import LabelFormat, read_label_file
from regrade.tables import read_json, texts

ANNOTATIONS = "human_accuracy_v3.0.0.json"
"""The name of the file."""

PREDICTIONS = Path("recht2019") / "imagenet-val.top5.parquet"
"""The original labels of the validation images, and the top-5 classes of models."""

_VALIDATION = "ILSVRC2012_val_"
_NO_MODEL = ("image", "wnid")


@dataclass(frozen=True, eq=False)
class Annotations:
    """The annotations of the validation images in ``test_set``, whose labels are unknown without the file of recht2019.

    ``new_images`` counts annotated images of ImageNetV2; ``major`` (n,) marks the images of ImageNet-M.
    """

    labels: LabelSet
    test_set: TestSet
    new_images: int
    major: BoolArray
    predictions_file: Path | None

    @property
    def labeled(self) -> bool:
        """Whether the original label of every image is known."""
        return bool((self.test_set.labels != UNLABELED).all())

    def predictions(self) -> Iterator[Predictions]:
        """The published top-5 classes of every model on the annotated images; nothing without the file."""
        if self.predictions_file is None:
            return
        table = pq.read_table(self.predictions_file)
        rows = _rows(texts(table, "image"), self.test_set.ids)
        for model in table.column_names:
            if model not in _NO_MODEL:
                ranked = table[model].combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
                space = self.test_set.class_space.name
                yield Predictions(model, self.test_set.name, space, ranked[rows].astype(np.int32))


def read_annotations(folder: Path) -> Annotations | None:
    """Read the annotations from a folder of data; None if the file is not there."""
    path = folder / ANNOTATIONS
    if not path.is_file():
        return None
    content = read_json(path)
    if not (isinstance(content, dict) and isinstance(content.get("initial_annots"), dict)):
        raise FormatError(f"{path}: multi-label annotations are a JSON object with initial_annots")
    annotated = content["initial_annots"]
    images = tuple(image for image in annotated if image.startswith(_VALIDATION))
    if not images:
        raise FormatError(f"{path} annotates no image of the ImageNet validation set ({_VALIDATION}...)")
    source = _predictions_file(folder)
    labels = np.full(len(images), UNLABELED) if source is None else _original_labels(source, images)
    test_set = TestSet("imagenet-val", imagenet_1k(), images, labels.astype(np.int32))
    file = read_label_file(path, test_set, form=LabelFormat.MULTILABEL_V3, name="multilabel-v3", version=1)
    major = np.isin(images, content.get("imagenet_m", []))
    return Annotations(file.labels, test_set, len(annotated) - len(images), major, source)


def _predictions_file(folder: Path) -> Path | None:
    candidates = (folder / PREDICTIONS, folder.resolve().parent / PREDICTIONS)
    return next((path for path in candidates if path.is_file()), None)


def _original_labels(source: Path, images: Sequence[str]) -> IntArray:
    table = pq.read_table(source, columns=list(_NO_MODEL))
    index_of, wnids = imagenet_1k().index_of, texts(table, "wnid")
    return np.array([index_of[wnids[row]] for row in _rows(texts(table, "image"), images)])


def _rows(published: Sequence[str], images: Sequence[str]) -> IntArray:
    """The rows of the published table that the images are in."""
    places = {image: row for row, image in enumerate(published)}
    if missing := next((image for image in images if image not in places), None):
        raise FormatError(f"{PREDICTIONS} has no image {missing!r}, which {ANNOTATIONS} annotates")
    return np.array([places[image] for image in images])
