"""Removed records: moved to a folder of the workspace, from which they can be restored until they are purged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regrade.core import InputError, MismatchError, StoreError, UnknownName
from regrade.core.names import check_distinct_names
from regrade.store.checked_files import read_meta, read_stored_json, stored_json
from regrade.store.config import FORMAT
from regrade.store.file_errors import damaged
from regrade.store.layout import REMOVAL, REMOVED, original_name, place_of, suffix_of
from regrade.store.transaction import Transaction, transaction

_LAST = "last.json"


@dataclass(frozen=True)
class StoredRecord:
    """A record in the workspace: the place of its file or folder, and how many files it has, with their size."""

    place: str
    files: int
    bytes: int

    @classmethod
    def at(cls, root: Path, path: Path) -> StoredRecord:
        """The record at a path."""
        files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
        return cls(path.relative_to(root).as_posix(), len(files), sum(file.stat().st_size for file in files))


@dataclass(frozen=True)
class RemovalPlan:
    """The records that a command would remove; ``what`` names them for people, ``notes`` say what depends on them.

    ``test_sets`` are the digests of the test sets that the records belong to, without those that are removed as well.
    """

    what: str
    command: str
    records: tuple[StoredRecord, ...]
    test_sets: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(record.files for record in self.records)

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(record.bytes for record in self.records)


@dataclass(frozen=True)
class Removal:
    """Removed records: what was removed, when (ISO 8601) and by which command; ``number`` is never used again."""

    number: int
    what: str
    command: str
    removed: str
    records: tuple[StoredRecord, ...]
    test_sets: Mapping[str, str]
    layout: int = FORMAT

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(record.files for record in self.records)

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(record.bytes for record in self.records)


class Removals:
    """The removed records of a workspace, by number: each removal is a folder with its records at their places."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def all(self) -> tuple[Removal, ...]:
        """All removals that can be restored, oldest first."""
        return tuple(self.read(number) for number in self._numbers())

    def read(self, number: int) -> Removal:
        """A removal by its number."""
        if number not in self._numbers():
            candidates = [str(present) for present in self._numbers()]
            raise UnknownName("removal", str(number), candidates)
        path = self._folder(number) / REMOVAL
        stated = read_stored_json(path)
        try:
            return Removal(**{**stated, "records": tuple(StoredRecord(**record) for record in stated["records"])})
        except TypeError as error:
            raise damaged(path, str(error)) from None

    def remove(self, plan: RemovalPlan) -> Removal:
        """Move the records of a plan out of their places."""
        with transaction(self.root) as change:
            number = self._last() + 1
            now = datetime.now(UTC).isoformat(timespec="seconds")
            removal = Removal(number, plan.what, plan.command, now, plan.records, plan.test_sets)
            folder = self._folder(number)
            self._write(change, folder / REMOVAL, asdict(removal))
            self._write(change, self.root / REMOVED / _LAST, {"last": number})
            for record in plan.records:
                change.move(self.root / record.place, folder / record.place)
        return removal

    def restore(self, number: int | None = None) -> Removal:
        """Move the records of a removal, the last one by default, back to their places.

        Raises if something is there now, if a test set that they belong to is missing or another version, or if a
        version of a label set would have no predecessor.
        """
        with transaction(self.root) as change:
            removal = self.read(self._newest() if number is None else number)
            self._check_restorable(removal)
            folder = self._folder(removal.number)
            for record in removal.records:
                change.move(folder / record.place, self.root / record.place)
            change.remove(folder)
        return removal

    def purge(self) -> tuple[Removal, ...]:
        """Delete all removed records for good."""
        with transaction(self.root) as change:
            removals = self.all()
            for number in self._folder_numbers():
                change.remove(self._folder(number))
        return removals

    def _check_restorable(self, removal: Removal) -> None:
        title = f"removal {removal.number} is not restored"
        if removal.layout != FORMAT:
            raise MismatchError(f"{title}: its files have layout {removal.layout}, and the workspace layout {FORMAT}")
        for name, digest in removal.test_sets.items():
            path = self.root / place_of("testsets", name)
            if not path.is_file():
                raise StoreError(f"{title}: its test set {name} is missing, restore or add that first")
            if read_meta(path)["digest"] != digest:
                raise MismatchError(f"{title}: test set {name} is now another version")
        for place in (record.place for record in removal.records):
            if (self.root / place).exists():
                raise StoreError(f"{title}: {place} is stored again; remove or rename that one first")
            if not (self._folder(removal.number) / place).exists():
                raise damaged(self._folder(removal.number) / place, "it is missing")
            self._check_names(place, title)
        self._check_versions([record.place for record in removal.records], title)

    def _check_names(self, place: str, title: str) -> None:
        """Raise if the name of a model or test set differs from a present one only in case or spaces."""
        kind, *names = place.split("/")
        what = {"predictions": "model or person", "testsets": "test set"}.get(kind)
        if what is not None:
            paths = (self.root / place).parent.glob(f"*{suffix_of(kind)}")
            present = [original_name(path.name.removesuffix(suffix_of(kind))) for path in paths]
            try:
                check_distinct_names(what, [original_name(names[-1].removesuffix(suffix_of(kind)))], present)
            except InputError as error:
                raise StoreError(f"{title}: {error}") from None

    def _check_versions(self, places: list[str], title: str) -> None:
        """Raise if the version of a label set before a restored one is missing."""
        suffix = suffix_of("labels")
        for place in places:
            name, _, version = place.removesuffix(suffix).rpartition("@")
            before = f"{name}@{int(version) - 1}{suffix}" if place.startswith("labels/") else ""
            if before and int(version) > 1 and before not in places and not (self.root / before).is_file():
                raise StoreError(f"{title}: {before} is missing, restore it first")

    def _numbers(self) -> list[int]:
        return [number for number in self._folder_numbers() if (self._folder(number) / REMOVAL).is_file()]

    def _folder_numbers(self) -> list[int]:
        return sorted(int(path.name) for path in (self.root / REMOVED).glob("*/") if path.name.isdecimal())

    def _newest(self) -> int:
        numbers = self._numbers()
        if not numbers:
            raise InputError("nothing to restore: no removed records are kept in this workspace")
        return numbers[-1]

    def _last(self) -> int:
        """The last number that was given to a removal, restored and purged ones included."""
        path = self.root / REMOVED / _LAST
        stated = int(read_stored_json(path)["last"]) if path.is_file() else 0
        return max([stated, *self._folder_numbers()])

    def _folder(self, number: int) -> Path:
        return self.root / REMOVED / str(number)

    def _write(self, change: Transaction, path: Path, content: Mapping[str, Any]) -> None:
        text = stored_json(content, place=path.relative_to(self.root).as_posix())
        change.replace_at(path, lambda file: file.write(text))
