"""Released tables whose rows have their own class name and a list of accepted ImageNet classes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule
from regrade.tables import check_unique, read_table, texts
from regrade.testsets.reader import ReaderResult, missing_files


class Disagreement(Enum):
    """How to handle rows with the same class name that list different classes."""

    REFUSE = "refuse"
    """Raise an error."""
    SPLIT = "split"
    """Treat them as separate classes, named after the listed classes."""


@dataclass(frozen=True)
class MappedColumns:
    """The columns of a released table."""

    id: str
    label: str
    """The class name, or a list of names that are joined to one name."""
    accepted: str
    """The accepted classes, as a list of ids or indices; rows with an empty list are not scored."""
    path: str
    images: tuple[str, ...] = ("",)
    """Folders next to the table that paths are relative to; the first one that contains an image is used."""
    disagreement: Disagreement = Disagreement.REFUSE


@dataclass(frozen=True)
class MappedTable:
    """The content of a table: its examples, with image locations unless all are missing, and its class map."""

    examples: ReaderResult
    class_map: ClassMap


def read_mapped_table(
    path: Path, name: str, columns: MappedColumns, groups: Sequence[str], source: ClassSpace
) -> MappedTable:
    """Read a released table; its class names become the class space ``name``, mapped from ``source``.

    A prediction is correct if any accepted class of the row is in the top k.
    """
    table = read_table(path)
    for column in (columns.id, columns.label, columns.accepted, columns.path, *groups):
        if column not in table.column_names:
            raise FormatError(
                f"{path} has no column {column!r}, which the table of {name} needs: see regrade testsets catalog {name}"
            )
    ids = texts(table, columns.id)
    check_unique(ids)
    own = [_class_name(cell) for cell in texts(table, columns.label)]
    accepted = _accepted(table, columns.accepted, source, path)
    class_of = _classes(own, accepted, columns.disagreement, source, path)
    space = ClassSpace(name, tuple(sorted({class_id for class_id, _ in class_of.values()})))
    lists = dict(class_of.values())
    class_map = ClassMap(source, space, tuple(lists[class_id] for class_id in space.ids), MapRule.ANY_IN_TOP_K)
    labels = [space.index(class_of[pair][0]) for pair in zip(own, accepted, strict=True)]
    places, missing = _places(path.parent, texts(table, columns.path), columns.images)
    values = {group: texts(table, group) for group in groups}
    return MappedTable(ReaderResult(ids, np.array(labels, dtype=np.int32), places, values, missing), class_map)


def _classes(
    names: Sequence[str],
    accepted: Sequence[tuple[int, ...]],
    disagreement: Disagreement,
    source: ClassSpace,
    path: Path,
) -> dict[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]]:
    """The class id and list of each pair of class name and list of accepted classes."""
    lists: dict[str, dict[tuple[int, ...], None]] = {}
    for name, entry in zip(names, accepted, strict=True):
        lists.setdefault(name, {})[entry] = None
    classes = {}
    for name, entries in lists.items():
        if len(entries) > 1 and disagreement is Disagreement.REFUSE:
            first, second = ([source.ids[index] for index in entry] for entry in list(entries)[:2])
            raise FormatError(
                f"{path}: rows of {name!r} list different classes, {_few(first)} and {_few(second)}; they must agree"
            )
        for entry in entries:
            suffix = f" ({', '.join(source.names[index] for index in entry) or 'no class'})"
            classes[name, entry] = (name + suffix if len(entries) > 1 else name, entry)
    return classes


def _class_name(cell: str) -> str:
    """The class name of a cell; several names are joined by commas."""
    several = _literal(cell) if cell.startswith("[") else None
    return ", ".join(map(str, several)) if isinstance(several, list) and several else cell


def _accepted(table: pa.Table, column: str, source: ClassSpace, path: Path) -> list[tuple[int, ...]]:
    """The accepted classes of each row, ascending and without repeats."""
    parsed: dict[str, tuple[int, ...]] = {}
    rows = []
    for row, cell in enumerate(table[column].to_pylist()):
        text = str(cell)
        if text not in parsed:
            try:
                parsed[text] = _class_list(cell, source)
            except InputError as error:
                raise FormatError(f"{path}: column {column!r}, row {row + 1}: {error}") from None
        rows.append(parsed[text])
    return rows


def _class_list(cell: Any, source: ClassSpace) -> tuple[int, ...]:
    listed = _literal(cell) if isinstance(cell, str) else cell
    if not isinstance(listed, list):
        raise FormatError(f"{cell!r} is not a list of classes, such as [1, 2]")
    return tuple(sorted({_class_index(reference, source) for reference in listed}))


def _class_index(reference: Any, source: ClassSpace) -> int:
    if isinstance(reference, str):
        return source.index(reference)
    if not isinstance(reference, int) or isinstance(reference, bool) or not 0 <= reference < len(source):
        raise InputError(f"{reference!r} is not a class of {source.name} (0 to {len(source) - 1}, or an id)")
    return reference


def _literal(text: str) -> Any:
    """Parse a Python literal; None if the text is invalid."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _places(folder: Path, paths: Sequence[str], images: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The location of each image next to the table, and how many are missing; no locations if all are missing."""
    for folder_name in images:
        places = tuple(f"{folder_name}/{path}" if folder_name else path for path in paths)
        missing = missing_files(folder, places)
        if missing < len(places):
            return places, missing
    return (), len(paths)


def _few(names: Sequence[str]) -> str:
    return "[" + ", ".join(names[:3]) + (", ..." if len(names) > 3 else "") + "]"
