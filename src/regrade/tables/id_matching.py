"""Matching the ids of a file with those of a test set: as they are, or without directories and extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from regrade.core.arrays import IntArray
from regrade.tables.columns import number_array, text_array

IMAGE_EXTENSIONS = ("jpeg", "jpg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm")


NO_ROW = -1
"""The row of an example that a file does not have."""


@dataclass(frozen=True)
class IdMatch:
    """The row in a file of each example of a test set (n,), and how ids were compared: empty if they are equal."""

    rows: IntArray
    ignoring: str = ""

    @property
    def matched(self) -> int:
        """The number of examples that have a row."""
        return int((self.rows != NO_ROW).sum())


def file_name(image: str) -> str:
    """An id without its directories."""
    return image.replace("\\", "/").rpartition("/")[2]


def stem(image: str) -> str:
    """An id without the extension of an image file.

    >>> stem("val/cat.1.JPEG"), stem("cat.1")
    ('val/cat.1', 'cat.1')
    """
    name, dot, extension = image.rpartition(".")
    return name if dot and extension.lower() in IMAGE_EXTENSIONS else image


def _file_stem(image: str) -> str:
    return stem(file_name(image))


_RULES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("extensions", stem),
    ("directories", file_name),
    ("directories and extensions", _file_stem),
)


def match_ids(test_set_ids: Sequence[str], file_ids: Sequence[str]) -> IdMatch | None:
    """Match ids one to one; None if neither equal ids nor shortened ones do, or if shortened ids are ambiguous."""
    return match_some_ids(test_set_ids, file_ids) if len(test_set_ids) == len(file_ids) else None


def match_some_ids(test_set_ids: Sequence[str], file_ids: Sequence[str]) -> IdMatch | None:
    """Match every id of a file as `match_ids` does; examples that the file does not have get `NO_ROW`."""
    return next((match for match in _matches(test_set_ids, file_ids) if match.matched == len(file_ids)), None)


def _matches(test_set_ids: Sequence[str], file_ids: Sequence[str]) -> Iterator[IdMatch]:
    """The matches of equal ids, then of shortened ones where these are unambiguous."""
    yield IdMatch(_rows(test_set_ids, file_ids))
    for ignoring, shortened in _RULES:
        short_ids, short_file_ids = list(map(shortened, test_set_ids)), list(map(shortened, file_ids))
        if len(set(short_ids)) == len(short_ids) and len(set(short_file_ids)) == len(short_file_ids):
            yield IdMatch(_rows(short_ids, short_file_ids), ignoring)


def _rows(ids: Sequence[str], file_ids: Sequence[str]) -> IntArray:
    rows = pc.index_in(text_array(ids), value_set=text_array(file_ids))
    return np.asarray(number_array(rows.fill_null(NO_ROW)))
