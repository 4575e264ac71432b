"""What a reader of test sets is: it finds the examples below a path, and opens their images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from regrade.core import ClassSpace, FileStamp, Images, ImageSource, ImageSourceError, InputError
from regrade.core.arrays import IntArray
from regrade.tables import Columns, Reading
from regrade.testsets.levels import Level


class Layout(Enum):
    """What the names of class folders are."""

    PROVEN = "proven"
    """Whichever of the others is the only one that fits every folder."""
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
    """What a reader is told: the class space, the layout of folders, the columns of tables.

    ``levels`` are folders above the class folders that give groups; in a folder, columns of groups name them too.
    """

    space: ClassSpace
    layout: Layout = Layout.PROVEN
    columns: Columns = field(default_factory=Columns)
    levels: tuple[Level, ...] = ()

    @property
    def naming(self) -> Layout:
        """What the names of classes are; a statement on whole numbers holds where the layout is not stated."""
        stated = {Reading.IDS: Layout.ID, Reading.INDICES: Layout.INDEX}
        return stated.get(self.columns.reading, self.layout) if self.layout is Layout.PROVEN else self.layout

    @property
    def group_levels(self) -> tuple[Level, ...]:
        """The levels of folders that give groups: those that columns of groups name, or else those known beforehand."""
        names = self.columns.groups
        known = {level.name: level for level in self.levels}
        return tuple(known.get(name, Level(name)) for name in names or known)

    def refuse_columns(self, form: str, *, besides: Sequence[str] = ()) -> None:
        """Raise where columns are named for a form that has none ``besides`` some, rather than pass over them."""
        columns = (self.columns.id, self.columns.label, *self.columns.groups)
        named = [column for column in columns if column and column not in besides]
        if named:
            raise InputError(f"a {form} has no columns, so none can be called {named[0]!r}: use a manifest for that")

    def refuse_flat(self, table: pa.Table, path: Path) -> None:
        """Raise where images are said to have no labels and a table gives them some, rather than pass over it."""
        column = self.columns.label_in(table) if self.layout is Layout.FLAT else None
        if column is not None:
            raise InputError(
                f"{path} has labels in column {column!r}, and --layout flat means images without labels: "
                "leave out the one or the other"
            )


@dataclass(frozen=True)
class ReaderResult:
    """What a reader found: ids, labels (n,) as class indices or none, groups, and each image's place.

    ``missing`` counts the images that are listed and are not there, and ``notes`` say what else was passed over.
    """

    ids: tuple[str, ...]
    labels: IntArray | None
    locations: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: int = 0
    notes: tuple[str, ...] = ()


class Reader(ABC):
    """One form in which images come. Third parties add theirs to the entry-point group ``regrade.readers``."""

    name: ClassVar[str]

    @abstractmethod
    def recognizes(self, path: Path) -> bool:
        """Whether a file or folder looks like this form."""

    @abstractmethod
    def find(self, path: Path, wanted: ReaderOptions) -> ReaderResult:
        """The examples below a path, in a stable order; anything amiss raises in one line."""

    @abstractmethod
    def open(self, source: ImageSource) -> Images:
        """The images of a source that this reader has found before."""


def check_names(names: Iterable[str]) -> None:
    """Raise where a name is not valid text, which some disks allow and no table can hold."""
    for name in names:
        if not _is_text(name):
            raise InputError(f"the name {name!a} is not valid UTF-8: rename it first")


def missing_files(folder: Path, places: Iterable[str]) -> int:
    """How many of the files that are listed by their paths are not there."""
    return sum(not is_file(folder, place) for place in places)


def is_file(folder: Path, place: str) -> bool:
    """Whether a path leads to a file; one that no file can have does not."""
    try:
        return (folder / place).is_file()
    except (OSError, ValueError):
        return False


def file_stamp(path: Path) -> FileStamp | None:
    """The stamp of a file; None where it cannot be looked at.

    The time of change is the later of those of its content and of its entry: the former can be set back.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):  # not there, or a path that no file can have
        return None
    return FileStamp(status.st_size, max(status.st_mtime_ns, status.st_ctime_ns))


def check_still_there(path: Path) -> None:
    """Raise where the images of a test set have moved away as a whole."""
    if not path.exists():
        raise ImageSourceError(
            f"the images were at {path}, which is gone: bring it back, or register their new place with "
            "regrade testsets add NAME PATH"
        )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
