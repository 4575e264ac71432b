"""Matching the ids of a file with those of a test set: as they are, or without directories and extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from regrade.core.arrays import IntArray
from regrade.tables.columns import number_array, text_array

IMAGE_EXTENSIONS = ("jpeg", "jpg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm")


@dataclass(frozen=True)
class IdMatch:
    """The row in a file of each example of a test set (n,), and how ids were compared: empty if they are equal."""

    rows: IntArray
    ignoring: str = ""


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
    if len(test_set_ids) != len(file_ids):
        return None
    if (rows := _rows(test_set_ids, file_ids)) is not None:
        return IdMatch(rows)
    for ignoring, shortened in _RULES:
        short_ids, short_file_ids = list(map(shortened, test_set_ids)), list(map(shortened, file_ids))
        if len(set(short_ids)) < len(short_ids) or len(set(short_file_ids)) < len(short_file_ids):
            continue
        if (rows := _rows(short_ids, short_file_ids)) is not None:
            return IdMatch(rows, ignoring)
    return None


def _rows(ids: Sequence[str], file_ids: Sequence[str]) -> IntArray | None:
    rows = pc.index_in(text_array(ids), value_set=text_array(file_ids))
    return None if rows.null_count else np.asarray(number_array(rows))
