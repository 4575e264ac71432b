"""Reading slices to import: ImageNet-X factors, lists of images, and tables of group columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
import pyarrow as pa

from regrade.core import FormatError, InputError, MismatchError, SliceSet, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.tables import (
    TABLE_SUFFIXES,
    Columns,
    ExamplePositions,
    check_file,
    check_ids,
    check_unique,
    ignored_columns,
    read_json,
    read_table,
    read_text,
    texts,
)

FACTORS = (
    "multiple_objects", "background", "color", "brighter", "darker", "style", "larger", "smaller", "object_blocking",
    "person_blocking", "partial_view", "pattern", "pose", "shape", "subcategory", "texture",
)  # fmt: skip
"""The factors of variation of ImageNet-X (Idrissi et al. 2022)."""
_RELEASED_COLUMNS = ("class", "justification", "one_word")  # other columns of the published file, not used


class SliceFormat(Enum):
    """The formats of slice files."""

    IMAGENET_X = "imagenet-x"
    """ImageNet-X's JSON lines: file_name and 16 factors, each 0 or 1; a factor becomes a slice."""

    LIST = "list"
    """Images as lines of text, as a JSON list, or in the id column of a table; together they are one slice."""

    TABLE = "table"
    """A table with every example of the test set exactly once; each other column becomes a group column."""


@dataclass(frozen=True)
class SliceFile:
    """The content of a slice file: the slices, and notes for the user."""

    slices: SliceSet
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Parts:
    """The slices and group columns of a file, in the order of the test set, and notes on what was not used."""

    subsets: dict[str, BoolArray] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_slice_file(
    path: Path, test_set: TestSet, *, form: SliceFormat, name: str, columns: Columns | None = None
) -> SliceFile:
    """Read slices of a test set; raise if the file contains other images.

    Of a table, all columns are read, or those that ``columns`` gives as groups.
    """
    match form:
        case SliceFormat.IMAGENET_X:
            parts = _factors(path, test_set, name)
        case SliceFormat.LIST:
            parts = _listed(path, test_set, name, columns or Columns())
        case SliceFormat.TABLE:
            parts = _columns(path, test_set, name, columns or Columns())
    origin = f"{form.value}: {path.name}"
    slices = SliceSet(name, test_set.name, len(test_set), parts.subsets, parts.columns, origin)
    return SliceFile(slices, parts.notes)


def _factors(path: Path, test_set: TestSet, name: str) -> _Parts:
    table = read_table(path)
    for column in ("file_name", *FACTORS):
        if column not in table.column_names:
            raise FormatError(f"{path} has no column {column} of ImageNet-X; it has {_first_names(table.column_names)}")
    rows = _positions(texts(table, "file_name"), test_set, path)
    subsets = {f"{name}:{factor}": _marked(table[factor], rows, test_set, factor, path) for factor in FACTORS}
    return _Parts(subsets, notes=ignored_columns(table, ("file_name", *FACTORS, *_RELEASED_COLUMNS)))


def _marked(column: pa.ChunkedArray, rows: IntArray, test_set: TestSet, factor: str, path: Path) -> BoolArray:
    values = column.to_pylist()
    if not all(value in (0, 1) for value in values):  # True and False are 1 and 0
        raise FormatError(f"{path}: the factor {factor} must be 0 or 1 for every image")
    inside = np.zeros(len(test_set), dtype=bool)
    inside[rows] = np.array(values, dtype=bool)
    return inside


def _listed(path: Path, test_set: TestSet, name: str, columns: Columns) -> _Parts:
    images, notes = _images(path, columns)
    inside = np.zeros(len(test_set), dtype=bool)
    inside[_positions(images, test_set, path)] = True
    return _Parts({name: inside}, notes=notes)


def _images(path: Path, columns: Columns) -> tuple[Sequence[str], tuple[str, ...]]:
    """The images that a file lists, and notes on what was not used."""
    if path.suffix.lower() in TABLE_SUFFIXES:
        table = read_table(path)
        images = columns.id_in(table)
        return texts(table, images), ignored_columns(table, {images})
    if path.suffix.lower() == ".json":
        content = read_json(path)
        if not (isinstance(content, list) and content and all(isinstance(image, str) for image in content)):
            raise FormatError(f"{path}: expected a JSON list of images")
        return content, ()
    check_file(path)
    try:
        lines = read_text(path).splitlines()
    except FormatError as error:
        raise FormatError(f"{path} {error}, one image per line") from None
    return [line for line in lines if line.strip()], ()


def _columns(path: Path, test_set: TestSet, name: str, columns: Columns) -> _Parts:
    table = read_table(path)
    images = columns.id_in(table)
    rows = _positions(texts(table, images), test_set, path)
    if len(rows) != len(test_set):
        absent = min(set(range(len(test_set))).difference(rows.tolist()))
        raise MismatchError(
            f"{path}: {len(test_set) - len(rows):,} of the {len(test_set):,} examples of {test_set.name} are missing, "
            f"for instance {test_set.ids[absent]!r}: a group column needs a value for every example"
        )
    group_columns = columns.groups or tuple(column for column in table.column_names if column and column != images)
    if not group_columns:
        raise FormatError(f"{path} has no column except {images}")
    order = np.argsort(rows)
    groups = {}
    for column in group_columns:
        if column not in table.column_names:
            raise InputError(f"{path} has no column {column!r}; it has {_first_names(table.column_names)}")
        values = texts(table, column)
        groups[f"{name}:{column}"] = tuple(values[row] for row in order)
    return _Parts(columns=groups)


def _positions(images: Sequence[str], test_set: TestSet, path: Path) -> IntArray:
    """Shape (n,): the positions of images in the test set; unknown and repeated images raise."""
    check_unique(images)
    check_ids(images)
    positions = ExamplePositions(test_set).of_all(images, path)
    if len(np.unique(positions)) < len(positions):
        raise FormatError(f"{path} contains an image of {test_set.name} twice, with and without its file extension")
    if not len(positions):
        raise FormatError(f"{path} contains no image")
    return positions


def _first_names(names: Iterable[str]) -> str:
    all_names = list(names)
    return ", ".join(all_names[:6]) + (", ..." if len(all_names) > 6 else "")
