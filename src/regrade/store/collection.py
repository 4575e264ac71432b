"""Write-once collections: the stored records of one kind, each at the place that its names determine."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, ClassVar, Generic, Protocol, TypeVar, cast

from regrade.core import AlreadyStored, MismatchError, TestSet
from regrade.store.checked_files import read_meta
from regrade.store.contents import missing_listed_files, removed
from regrade.store.file_errors import is_filled
from regrade.store.layout import file_name, original_name, place_of, suffix_of
from regrade.store.transaction import Transaction, transaction

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Context = TypeVar("Context")


@dataclass(frozen=True)
class Stored:
    """The result of storing: the names that are new, and those that were stored before with the same content."""

    new: tuple[str, ...]
    unchanged: tuple[str, ...]


class _Digested(Protocol):
    @property
    def digest(self) -> str: ...


class Collection(ABC, Generic[T, Context]):
    """The stored records of one kind: storing the same again is allowed, other content under the same names raises.

    A record is a file, or a folder that has a ``main_file``. A subclass adds the encoding; ``Context`` is what it needs
    besides the record, usually the test set.
    """

    kind: ClassVar[str]
    main_file: ClassVar[str] = ""
    part_of_others: ClassVar[bool] = False  # several records of one change may store the same one

    def __init__(self, root: Path) -> None:
        self.root = root
        self._reported: set[Path] = set()

    @abstractmethod
    def names_of(self, record: T, context: Context, /) -> tuple[str, ...]:
        """The names that determine the place of a record, such as those of its test set and its own."""

    @abstractmethod
    def refusal(self, record: T, context: Context, /) -> str:
        """The message of the error if other content is stored under the names of a record."""

    def write(self, record: T, context: Context, file: BinaryIO, /) -> None:
        """Write the file of a record."""
        raise NotImplementedError

    def put(self, change: Transaction, record: T, context: Context, /) -> None:
        """Stage a record, whether or not one is stored, as part of a change."""
        change.write_at(self.path(*self.names_of(record, context)), partial(self.write, record, context))

    def is_same(self, record: T, context: Context, /) -> bool:
        """Whether the stored record has the same content, by default by the digest in its metadata."""
        stored = read_meta(self.main_path(*self.names_of(record, context)))
        return bool(stored["digest"] == cast(_Digested, record).digest)

    def may_replace(self, _record: T, _context: Context, /) -> bool:
        """Whether a record may replace the stored one, which differs."""
        return False

    def path(self, *names: str) -> Path:
        """The file or folder of a record, which may not exist."""
        return self.root / place_of(self.kind, *names)

    def main_path(self, *names: str) -> Path:
        """The file of a record, or the main file of its folder."""
        return self.path(*names) / self.main_file

    def has(self, *names: str) -> bool:
        """Whether a record is stored."""
        return self.main_path(*names).is_file()

    def names(self, *parents: str) -> tuple[str, ...]:
        """The names of the stored records; folders that lost their main file are left out with a warning."""
        suffix = suffix_of(self.kind)
        places = sorted(self._folder(*parents).glob(f"*{suffix}"))
        complete = {place for place in places if (place / self.main_file).is_file()}
        self.warn_of_lost(place / self.main_file for place in places if place not in complete and is_filled(place))
        return tuple(sorted(original_name(place.name.removesuffix(suffix)) for place in complete))

    def lost_names(self, *parents: str) -> list[str]:
        """The names of the records that contents.json lists and that are missing."""
        return missing_listed_files(self.root, self._folder(*parents).relative_to(self.root).as_posix())

    def refuse_lost(self, *names: str) -> None:
        """Raise if a record is missing although contents.json lists it: it is not unknown."""
        if names[-1] in self.lost_names(*names[:-1]):
            raise removed(self.main_path(*names))

    def warn_of_lost(self, paths: Iterable[Path]) -> None:
        """Log one line with the missing files that were not reported yet."""
        if new := [path for path in paths if path not in self._reported]:
            self._reported.update(new)
            places = ", ".join(path.relative_to(self.root).as_posix() for path in new)
            _LOG.warning("note: missing, and left out: %s; `regrade verify` checks all files", places)

    def is_new(self, record: T, context: Context) -> bool:
        """Whether a record is to be written: False if the same is stored; raise if it must not replace another."""
        if not self.has(*self.names_of(record, context)):
            return True
        if self.is_same(record, context):
            return False
        if not self.may_replace(record, context):
            raise AlreadyStored(self.refusal(record, context))
        return True

    def place(self, change: Transaction, record: T, context: Context) -> Stored:
        """Store a record as part of a change."""
        names = self.names_of(record, context)
        staged_already = self.part_of_others and change.will_place(self.path(*names))
        if staged_already or not self.is_new(record, context):
            return Stored((), names[-1:])
        self.put(change, record, context)
        return Stored(names[-1:], ())

    def add(self, record: T, context: Context) -> Stored:
        """Store a record; the same again is allowed, other content under the same names raises."""
        with transaction(self.root) as change:
            return self.place(change, record, context)

    def remove(self, *names: str) -> None:
        """Remove a record, such as decisions that are no longer in the ledger."""
        with transaction(self.root) as change:
            change.remove(self.path(*names))

    def _folder(self, *parents: str) -> Path:
        return self.root.joinpath(self.kind, *map(file_name, parents))


def check_test_set(path: Path, digest: str, test_set: TestSet) -> None:
    """Raise if a file or folder was made for another version of a test set."""
    if digest != test_set.digest:
        raise MismatchError(f"{path} was made for another version of test set {test_set.name!r}")
