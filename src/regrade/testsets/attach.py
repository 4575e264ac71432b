"""Pictures for a test set that is known already: found by id, whatever their order."""

from __future__ import annotations

import numpy as np

from regrade.core import MismatchError, TestSet
from regrade.testsets.folder import SUFFIXES
from regrade.testsets.reader import Found


def locations_for(test_set: TestSet, found: Found) -> tuple[str, ...]:
    """The place of each example's picture, by its id with or without a file's ending.

    Every example needs a picture, pictures without an example are one too many, and labels must agree.
    """
    row_of = {_bare(example): row for row, example in enumerate(found.ids)}
    rows = [row_of.get(_bare(example), -1) for example in test_set.ids]
    if -1 in rows:
        missing = [example for example, row in zip(test_set.ids, rows, strict=True) if row < 0]
        raise MismatchError(
            f"{len(missing):,} of the {len(test_set):,} examples of {test_set.name} have no picture here, for instance "
            f"{missing[0]!r}"
        )
    if len(set(rows)) < len(found.ids):
        stranger = found.ids[next(row for row in range(len(found.ids)) if row not in set(rows))]
        raise MismatchError(f"picture {stranger!r} belongs to no example of {test_set.name}")
    if found.labels is not None:
        differs = np.flatnonzero((found.labels[rows] != test_set.labels) & test_set.labeled)
        if differs.size:
            example = test_set.ids[differs[0]]
            raise MismatchError(
                f"{len(differs):,} pictures lie under another class than test set {test_set.name} gives them, for "
                f"instance {example!r}"
            )
    return tuple(found.locations[row] for row in rows)


def _bare(example: str) -> str:
    """An id without the folders before it and the ending of a picture behind it."""
    name = example.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return stem if dot and f".{ending.lower()}" in SUFFIXES else name
