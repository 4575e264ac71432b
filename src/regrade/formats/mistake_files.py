"""Reading reviews of mistakes to import: the published format of Vasudevan et al. 2022, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import FormatError, InputError, MistakeAnnotations, TestSet, category_named, severity_named
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.tables import (
    Columns,
    ExamplePositions,
    column_named,
    ignored_columns,
    ignored_names,
    one_class_per_row,
    read_json,
    read_table,
    texts,
)

_CLASS_COLUMNS = ("prediction", "predicted", "class", "top_prediction")
_KEYS = ("top_prediction", "failure category", "failure severity")


class MistakeFormat(Enum):
    """The formats of reviews of mistakes."""

    VASUDEVAN2022 = "vasudevan2022"
    """JSON from image to top_prediction (a class index), failure category and failure severity."""

    TABLE = "table"
    """A table with image, prediction, category and severity."""


@dataclass(frozen=True)
class MistakeFile:
    """The content of a file of mistakes: the review, and notes for the user."""

    review: MistakeAnnotations
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rows:
    """The content of a file, one mistake per row, and notes on what was not used."""

    images: tuple[str, ...]
    classes: IntArray
    categories: tuple[str, ...]
    severities: tuple[str, ...]
    notes: tuple[str, ...]


def read_mistake_file(
    path: Path, test_set: TestSet, *, form: MistakeFormat, model: str, columns: Columns | None = None
) -> MistakeFile:
    """Read a review of a model's mistakes on a test set; unknown images and categories raise."""
    match form:
        case MistakeFormat.VASUDEVAN2022:
            rows = _published(path, test_set)
        case MistakeFormat.TABLE:
            rows = _table(path, test_set, columns or Columns())
    examples = ExamplePositions(test_set).of_all(rows.images, path)
    try:
        review = MistakeAnnotations(
            model,
            test_set.name,
            len(test_set),
            len(test_set.class_space),
            examples,
            rows.classes,
            tuple(category_named(word) for word in rows.categories),
            tuple(severity_named(word) for word in rows.severities),
            rows.categories,
            f"{form.value}: {path.name}",
        )
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None
    return MistakeFile(review, (*rows.notes, *_own_label_notes(review, test_set)))


def _own_label_notes(review: MistakeAnnotations, test_set: TestSet) -> tuple[str, ...]:
    """A note on predicted classes equal to the image's label: they are mistakes only if the label is wrong."""
    places = np.flatnonzero(test_set.labels[review.examples] == review.classes)
    if not places.size:
        return ()
    image = test_set.ids[review.examples[places[0]]]
    return (
        f"{amount(len(places), 'mistake')} with the image's own label as the predicted class, such as {image!r}: "
        "kept as a mistake, which it is only where that label is wrong",
    )


def _published(path: Path, test_set: TestSet) -> _Rows:
    content = read_json(path)
    if not (isinstance(content, dict) and content and all(_is_entry(entry) for entry in content.values())):
        raise FormatError(f"{path}: expected a JSON object that maps images to {', '.join(_KEYS)}")
    predicted, categories, severities = zip(*([entry[key] for key in _KEYS] for entry in content.values()), strict=True)
    size = len(test_set.class_space)
    for image, index in zip(content, predicted, strict=True):
        if not 0 <= index < size:
            raise FormatError(f"{path}: class index {index} of {image!r} is outside {test_set.class_space.name}")
    keys = dict.fromkeys(key for entry in content.values() for key in entry)
    return _Rows(tuple(content), np.array(predicted), categories, severities, ignored_names(keys, _KEYS, noun="key"))


def _is_entry(entry: Any) -> bool:
    if not (isinstance(entry, dict) and all(key in entry for key in _KEYS)):
        return False
    predicted, *words = (entry[key] for key in _KEYS)
    return isinstance(predicted, int) and not isinstance(predicted, bool) and all(isinstance(w, str) for w in words)


def _table(path: Path, test_set: TestSet, columns: Columns) -> _Rows:
    if path.suffix.lower() == ".json":
        raise FormatError(f"{path}: a table is expected; published JSON is read with --format vasudevan2022")
    table = read_table(path)
    class_column = columns.label or column_named(table, *_CLASS_COLUMNS)
    category, severity = (column_named(table, name) for name in ("category", "severity"))
    if class_column is None or class_column not in table.column_names or category is None or severity is None:
        raise FormatError(f"{path}: expected the columns image, prediction, category and severity")
    images = columns.id_in(table)
    return _Rows(
        texts(table, images),
        one_class_per_row(table[class_column], test_set.class_space, name=class_column, reading=columns.reading),
        texts(table, category),
        texts(table, severity),
        ignored_columns(table, {images, class_column, category, severity}),
    )
