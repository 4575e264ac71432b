"""Match images to the examples of an existing test set by id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from regrade.core import MismatchError, TestSet
from regrade.core.arrays import IntArray
from regrade.testsets.image_files import image_suffixes
from regrade.testsets.reader import ReaderResult


def locations_for(test_set: TestSet, result: ReaderResult) -> tuple[str, ...]:
    """The location of the image of each example, matched by id with or without the file extension.

    Raise if an example has no image, if an image belongs to no example, or if labels or groups differ.
    """
    rows = _rows(test_set, result.ids)
    unused = sorted(set(range(len(result.ids))).difference(rows))
    if unused:
        raise MismatchError(
            f"{len(unused):,} images belong to no example of {test_set.name}, for example {result.ids[unused[0]]!r}"
        )
    for column, values in result.groups.items():
        if test_set.groups.get(column) != tuple(values[row] for row in rows):
            raise MismatchError(
                f"test set {test_set.name} is stored without the group column {column!r}, or with other values"
            )
    if result.labels is not None:
        _check_labels(test_set, result.labels[rows])
    return tuple(result.locations[row] for row in rows)


def _rows(test_set: TestSet, ids: Sequence[str]) -> list[int]:
    """The row of each example among the image ids, by the strictest comparison that matches all of them."""
    missing: list[str] = []
    for key in _KEYS:
        row_of = {key(example): row for row, example in enumerate(ids)}
        rows = [row_of.get(key(example), -1) for example in test_set.ids]
        missing = [example for example, row in zip(test_set.ids, rows, strict=True) if row < 0]
        if not missing and len(row_of) == len(ids) and len(set(rows)) == len(rows):
            return rows
    if missing:
        raise MismatchError(
            f"{len(missing):,} of the {len(test_set):,} examples of {test_set.name} have no image, for example "
            f"{missing[0]!r}"
        )
    raise MismatchError(f"several images match the same id of {test_set.name}: file names and ids must be equal")


def _check_labels(test_set: TestSet, labels: IntArray) -> None:
    differs = np.flatnonzero((labels != test_set.labels) & test_set.labeled)
    if differs.size:
        raise MismatchError(
            f"{len(differs):,} images have another label than in test set {test_set.name}, for example "
            f"{test_set.ids[differs[0]]!r}"
        )


def _unchanged(example: str) -> str:
    return example


def _without_extension(example: str) -> str:
    stem, dot, extension = example.rpartition(".")
    return stem if dot and f".{extension.lower()}" in image_suffixes() else example


def _file_stem(example: str) -> str:
    """An id without folders and without the extension of an image."""
    return _without_extension(example.rpartition("/")[2])


_KEYS: tuple[Callable[[str], str], ...] = (_unchanged, _without_extension, _file_stem)
