"""Images for a test set that is known already: found by id, whatever their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from regrade.core import MismatchError, TestSet
from regrade.core.arrays import IntArray
from regrade.testsets.image_files import image_suffixes
from regrade.testsets.reader import ReaderResult


def locations_for(test_set: TestSet, found: ReaderResult) -> tuple[str, ...]:
    """The place of each example's image, by its id with or without a file's ending.

    Every example needs a image, images without an example are one too many, and labels must agree.
    """
    rows = _rows(test_set, found.ids)
    unused = sorted(set(range(len(found.ids))).difference(rows))
    if unused:
        raise MismatchError(
            f"{len(unused):,} images belong to no example of {test_set.name}, for instance {found.ids[unused[0]]!r}"
        )
    for column, values in found.groups.items():
        if test_set.groups.get(column) != tuple(values[row] for row in rows):
            raise MismatchError(
                f"test set {test_set.name} is stored without this group column {column!r}, or with other values"
            )
    if found.labels is not None:
        _check_labels(test_set, found.labels[rows])
    return tuple(found.locations[row] for row in rows)


def _rows(test_set: TestSet, ids: Sequence[str]) -> list[int]:
    """The row of each example among the ids of images, by the strictest way of comparing that finds them all."""
    missing: list[str] = []
    for key in _KEYS:
        row_of = {key(example): row for row, example in enumerate(ids)}
        rows = [row_of.get(key(example), -1) for example in test_set.ids]
        missing = [example for example, row in zip(test_set.ids, rows, strict=True) if row < 0]
        if not missing and len(row_of) == len(ids) and len(set(rows)) == len(rows):
            return rows
    if missing:
        raise MismatchError(
            f"{len(missing):,} of the {len(test_set):,} examples of {test_set.name} have no image here, for instance "
            f"{missing[0]!r}"
        )
    raise MismatchError(f"several images could be meant by the same id of {test_set.name}: ids and names must agree")


def _check_labels(test_set: TestSet, labels: IntArray) -> None:
    differs = np.flatnonzero((labels != test_set.labels) & test_set.labeled)
    if differs.size:
        raise MismatchError(
            f"{len(differs):,} images lie under another class than test set {test_set.name} gives them, for "
            f"instance {test_set.ids[differs[0]]!r}"
        )


def _whole(example: str) -> str:
    return example


def _without_ending(example: str) -> str:
    stem, dot, ending = example.rpartition(".")
    return stem if dot and f".{ending.lower()}" in image_suffixes() else example


def _bare(example: str) -> str:
    """An id without the folders before it and the ending of a image behind it."""
    return _without_ending(example.rpartition("/")[2])


_KEYS: tuple[Callable[[str], str], ...] = (_whole, _without_ending, _bare)
