"""What a reader of test sets is: it finds the examples below a path, and opens their pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

from regrade.core import ClassSpace, InputError, Pictures, PictureSource
from regrade.core.arrays import IntArray
from regrade.tables import Columns, Reading


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
    """No class folders: pictures without labels."""


@dataclass(frozen=True)
class Wanted:
    """What a reader is told: the class space, the layout of folders, the columns of tables."""

    space: ClassSpace
    layout: Layout = Layout.PROVEN
    columns: Columns = field(default_factory=Columns)

    @property
    def naming(self) -> Layout:
        """What the names of classes are; a statement on whole numbers holds where the layout is not stated."""
        stated = {Reading.IDS: Layout.ID, Reading.INDICES: Layout.INDEX}
        return stated.get(self.columns.reading, self.layout) if self.layout is Layout.PROVEN else self.layout

    def refuse_columns(self, form: str) -> None:
        """Raise where columns are named for a form that has none, rather than pass over them."""
        named = [*filter(None, (self.columns.id, self.columns.label)), *self.columns.groups]
        if named:
            raise InputError(f"a {form} has no columns, so none can be called {named[0]!r}: use a manifest for that")


@dataclass(frozen=True)
class Found:
    """What a reader found: ids, labels (n,) as class indices or none, groups, and each picture's place."""

    ids: tuple[str, ...]
    labels: IntArray | None
    locations: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Reader(ABC):
    """One form in which pictures come. Third parties add theirs to the entry-point group ``regrade.readers``."""

    name: ClassVar[str]

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file or folder looks like this form."""

    @abstractmethod
    def find(self, path: Path, wanted: Wanted) -> Found:
        """The examples below a path, in a stable order; anything amiss raises in one line."""

    @abstractmethod
    def open(self, source: PictureSource) -> Pictures:
        """The pictures of a source that this reader has found before."""


def check_names(names: Iterable[str]) -> None:
    """Raise where a name is not valid text, which some disks allow and no table can hold."""
    for name in names:
        if not _is_text(name):
            raise InputError(f"the name {name!a} is not valid UTF-8: rename it first")


def check_still_there(path: Path) -> None:
    """Raise where the pictures of a test set have moved away as a whole."""
    if not path.exists():
        raise InputError(f"the pictures were at {path}, which is gone: bring it back, or add them from where they are")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
