"""The interface of readers, and how names become classes and groups and match images to examples."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from regrade.core import (
    ClassSpace,
    FileStamp,
    Images,
    ImageSource,
    ImageSourceError,
    InputError,
    MismatchError,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import IntArray
from regrade.tables import Columns, Reading
from regrade.testsets.decode import image_suffixes


@dataclass(frozen=True)
class Level:
    """One level of folders above the class folders: the name of its group column, and its possible values."""

    name: str
    values: tuple[str, ...] = ()
    """Empty if any value is possible."""


def level_values(levels: Sequence[Level], folders: Sequence[str], root: Path) -> tuple[str, ...]:
    """The value of each level, outermost first, from the folders between the root and a class folder.

    A level with known values may also be the root or a folder above it.
    """
    missing = len(levels) - len(folders)
    above = Path(os.path.abspath(root)).parts  # noqa: PTH100 - a link keeps its own name
    values = [*[""] * len(levels), *above, *folders][-len(levels) :]
    for number, (level, value) in enumerate(zip(levels, values, strict=True)):
        if not level.values and number < missing:
            layout = "/".join((*(expected.name for expected in levels), "class"))
            raise MismatchError(f"{root}: expected folders by {layout}, but there is none for {level.name!r}")
        if level.values and value not in level.values:
            raise UnknownName(level.name, value, level.values, hint=f" (a folder's name in {root})")
    return tuple(values)


class Layout(Enum):
    """How the names of class folders are read."""

    PROVEN = "proven"
    """The only one of the other layouts that fits every folder."""
    ID = "id"
    """Class ids, such as wnids."""
    INDEX = "index"
    """Class indices: folder 100 is class 100."""
    NAME = "name"
    """Display names."""
    FLAT = "flat"
    """No class folders: images without labels."""


@dataclass(frozen=True)
class ReaderOptions:
    """Options of a reader: the class space, the layout of folders, the columns of tables.

    ``levels`` are folders above the class folders that become groups; for image folders, the group columns name them.
    """

    space: ClassSpace
    layout: Layout = Layout.PROVEN
    columns: Columns = field(default_factory=Columns)
    levels: tuple[Level, ...] = ()

    @property
    def naming(self) -> Layout:
        """How class names are read: by the layout, or by the option for integers if the layout is not given."""
        stated = {Reading.IDS: Layout.ID, Reading.INDICES: Layout.INDEX}
        return stated.get(self.columns.reading, self.layout) if self.layout is Layout.PROVEN else self.layout

    @property
    def group_levels(self) -> tuple[Level, ...]:
        """The levels of folders that become groups: those named by the group columns, otherwise ``levels``."""
        names = self.columns.groups
        by_name = {level.name: level for level in self.levels}
        return tuple(by_name.get(name, Level(name)) for name in names or by_name)

    def refuse_columns(self, form: str, *, besides: Sequence[str] = ()) -> None:
        """Raise if columns are named for a format without columns, except for those in ``besides``."""
        columns = (self.columns.id, self.columns.label, *self.columns.groups)
        named = [column for column in columns if column and column not in besides]
        if named:
            raise InputError(f"a {form} has no columns, so {named[0]!r} cannot be read: use a table of paths instead")

    def refuse_flat(self, table: pa.Table, path: Path) -> None:
        """Raise if the layout is flat, meaning images without labels, and a table has labels."""
        column = self.columns.label_in(table) if self.layout is Layout.FLAT else None
        if column is not None:
            raise InputError(
                f"{path} has labels in column {column!r}, but --layout flat means images without labels: "
                "remove one of them"
            )


@dataclass(frozen=True)
class ReaderResult:
    """The result of a reader: ids, labels (n,) as class indices or None, groups, and the location of each image.

    ``missing`` is the number of listed images that do not exist; ``notes`` describe what was skipped.
    """

    ids: tuple[str, ...]
    labels: IntArray | None
    locations: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: int = 0
    notes: tuple[str, ...] = ()


class Reader(ABC):
    """A reader of one image format. Third parties add their own in the entry-point group ``regrade.readers``."""

    name: ClassVar[str]

    @abstractmethod
    def recognizes(self, path: Path) -> bool:
        """Whether a file or folder looks like this format."""

    @abstractmethod
    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """The examples at a path, in a stable order; raise an error of one line if anything is wrong."""

    @abstractmethod
    def open(self, source: ImageSource) -> Images:
        """Open the images of a source that was created from the result of `find`."""


def check_names(names: Iterable[str]) -> None:
    """Raise if a name is not valid UTF-8, which file systems allow but tables cannot store."""
    for name in names:
        if not _is_text(name):
            raise InputError(f"the name {name!a} is not valid UTF-8: rename it first")


def missing_files(folder: Path, places: Iterable[str]) -> int:
    """The number of listed files that do not exist."""
    return sum(not is_file(folder, place) for place in places)


def is_file(folder: Path, place: str) -> bool:
    """Whether a path is an existing file; False for invalid paths."""
    try:
        return (folder / place).is_file()
    except (OSError, ValueError):
        return False


def file_stamp(path: Path) -> FileStamp | None:
    """The size and modification time of a file; None if they cannot be read.

    The time is the later of mtime and ctime, since mtime can be set back.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):  # missing, or an invalid path
        return None
    return FileStamp(status.st_size, max(status.st_mtime_ns, status.st_ctime_ns))


def check_still_there(path: Path) -> None:
    """Raise if the folder or file with the images does not exist any more."""
    if not path.exists():
        raise ImageSourceError(
            f"the images were at {path}, which does not exist any more: restore it, or register their new path with "
            "regrade testsets add NAME PATH"
        )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


_READINGS = (Layout.ID, Layout.INDEX, Layout.NAME)


def classes_by_name(
    names: Mapping[str, str], space: ClassSpace, layout: Layout, *, what: str, where: Path
) -> dict[str, int]:
    """The class index of each name; ``names`` maps the text shown in errors to the name.

    With `Layout.PROVEN`, a reading is accepted if it fits all names and every other fitting reading gives the same
    classes. Classes are never guessed from the order of names. ``what`` (folder, label) and ``where`` (the path) appear
    in errors.
    """
    readings = {kind: _class_by_name(kind, space) for kind in _READINGS if layout in (kind, Layout.PROVEN)}
    fitting = {kind: reading for kind, reading in readings.items() if all(name in reading for name in names.values())}
    if not fitting:
        problem = _misfit(names, readings, space, what, where)
        raise MismatchError(f"{problem}; for images without labels use --layout flat")
    classes = {kind: {shown: reading[name] for shown, name in names.items()} for kind, reading in fitting.items()}
    first, *alternatives = classes.values()
    if any(alternative != first for alternative in alternatives):
        kinds = " or ".join(kind.value for kind in classes)
        raise InputError(f"the {what}s of {where} could be read as {kinds} of {space.name}: choose one with --layout")
    return first


def known_classes(names: Iterable[str], space: ClassSpace, layout: Layout, *, what: str, where: Path) -> dict[str, int]:
    """As `classes_by_name`, but without the names that are not classes, under the reading that fits most names.

    Raises if no name is a class.
    """
    every = {name: name for name in names}
    readings = {kind: _class_by_name(kind, space) for kind in _READINGS if layout in (kind, Layout.PROVEN)}
    best = max(readings.values(), key=lambda reading: sum(name in reading for name in every))
    fitting = {name: name for name in every if name in best}
    if not fitting:
        raise MismatchError(f"{_misfit(every, readings, space, what, where)}, nor is any other {what}")
    return classes_by_name(fitting, space, layout, what=what, where=where)


def _class_by_name(kind: Layout, space: ClassSpace) -> Mapping[str, int]:
    """The class index by name under a layout."""
    if kind is Layout.ID:
        return space.index_of
    if kind is Layout.INDEX:
        return {str(index): index for index in range(len(space))}
    return {name: index for index, name in enumerate(space.names)}


def _misfit(
    names: Mapping[str, str], readings: Mapping[Layout, Mapping[str, int]], space: ClassSpace, what: str, where: Path
) -> str:
    """What is wrong with a name that does not fit the best reading."""
    best = max(readings.values(), key=lambda reading: sum(name in reading for name in names.values()))
    unknown = next(shown for shown, name in names.items() if name not in best)
    kinds = " or ".join(kind.value for kind in readings)
    lead = f"{what} {unknown!r} of {where}" if unknown else f"an image in {where} itself has no {what} and so"
    return f"{lead} is not a class {kinds} of {space.name}"


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
