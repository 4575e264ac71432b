"""What a reader of test sets is: it finds the examples below a path, and opens their pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

from regrade.core import ClassSpace, Pictures, PictureSource
from regrade.core.arrays import IntArray
from regrade.tables import Columns


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
