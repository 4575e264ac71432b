"""Atomic changes to a workspace: files are staged, then moved to their places as a journal lists them."""

from __future__ import annotations

import json
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from regrade.core import AlreadyStored, FormatError, StoreError
from regrade.store.atomic import sync_files, sync_folder
from regrade.store.contents import contents_after
from regrade.store.file_errors import write_errors
from regrade.store.layout import CONTENTS
from regrade.store.locks import locked, locked_if_free

_STAGING = ".staging"
_JOURNAL = "journal.json"


class _OpenTransactions(threading.local):
    """The open transactions of a thread, by workspace."""

    def __init__(self) -> None:
        self.by_root: dict[Path, Transaction] = {}


_open = _OpenTransactions()


@dataclass(frozen=True)
class _Step:
    """A change: ``staged`` is moved to ``final``, and what was there before to ``old``.

    Paths are relative to the workspace. If ``staged`` is empty, ``final`` is removed. ``staged`` is the present path of
    a stored file or folder if that is moved.
    """

    staged: str
    final: str
    old: str


class Transaction:
    """Files and folders that are placed, replaced or removed together, by one process at a time.

    Get it from `transaction`. Nothing is visible before the end; after an error nothing has changed. Other writers
    wait, so what is read within a transaction stays valid until it ends.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self._folder = folder
        self._count = 0
        self._steps: dict[str, _Step] = {}  # by place: a later step replaces an earlier one
        self._written: list[Path] = []
        self._parts = 0  # number of open transactions within this one

    def new_folder(self) -> Path:
        """A new, empty staging folder."""
        folder = self._new_path()
        with write_errors(self.root):
            folder.mkdir(parents=True)
        return folder

    def write(self, path: Path, content: Callable[[BinaryIO], object]) -> Path:
        """Write a file in a staging folder."""
        with write_errors(self.root), path.open("wb") as file:
            content(file)
        self._written.append(path)
        return path

    def write_at(self, final: Path, content: Callable[[BinaryIO], object]) -> None:
        """Stage a new file; raise if one exists at its place."""
        self.place(self.write(self.new_folder() / final.name, content), final)

    def replace_at(self, final: Path, content: Callable[[BinaryIO], object]) -> None:
        """Stage a file, which replaces one at its place."""
        self.replace(self.write(self.new_folder() / final.name, content), final)

    def place(self, staged: Path, final: Path) -> None:
        """Move a staged file or folder to a place at the end; raise if something is there."""
        if final.exists() or self.will_place(final):
            raise AlreadyStored(f"{final} exists already")
        self._add(staged, final)

    def replace(self, staged: Path, final: Path) -> None:
        """Move a staged file or folder to a place at the end, replacing what is there."""
        self._add(staged, final)

    def remove(self, final: Path) -> None:
        """Remove a file or folder at the end."""
        self._add(None, final)

    def move(self, source: Path, final: Path) -> None:
        """Move a stored file or folder to another place at the end; raise if something is there, or nothing to move.

        Both must be on one file system. The source is not placed, replaced or removed in the same transaction, unless a
        folder around it is removed afterwards.
        """
        if not source.exists():
            raise StoreError(f"{source} does not exist, and is not moved")
        self.place(source, final)

    def will_place(self, final: Path) -> bool:
        """Whether something is staged for a place."""
        step = self._steps.get(self._below_root(final))
        return step is not None and bool(step.staged)

    def commit_now(self) -> None:
        """Commit what is staged so far and continue, still holding the lock.

        Within another transaction this does nothing, since the outer one decides when to commit.
        """
        if not self._parts:
            self._commit()

    def _add(self, staged: Path | None, final: Path) -> None:
        source, target = "" if staged is None else self._below_root(staged), self._below_root(final)
        self._steps[target] = _Step(source, target, self._below_root(self._new_path()))

    @property
    def _moved(self) -> list[str]:
        """The places of stored files and folders that are moved."""
        own = f"{self._below_root(self._folder)}/"
        return [step.staged for step in self._steps.values() if step.staged and not step.staged.startswith(own)]

    def _new_path(self) -> Path:
        self._count += 1
        return self._folder / str(self._count)

    def _below_root(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _commit(self) -> None:
        if not self._steps:
            return
        _check_moves(self._steps.values(), set(self._moved))
        self._update_contents()
        text = json.dumps([asdict(step) for step in self._steps.values()])
        with write_errors(self.root):
            journal = self.write(self._folder / f"{_JOURNAL}.new", lambda file: file.write(text.encode()))
            sync_files(self._written)
            journal.rename(self._folder / _JOURNAL)  # from here on the change is committed, even if the process dies
            _carry_out_or_undo(self.root, self._folder)
        self._steps, self._written = {}, []

    def _update_contents(self) -> None:
        """Stage the list of stored files as it will be after the other changes."""
        staged: dict[str, Path | None] = dict.fromkeys(self._moved)
        staged |= {place: self.root / step.staged if step.staged else None for place, step in self._steps.items()}
        with write_errors(self.root):
            content = contents_after(self.root, staged)
        if content is not None:
            self.replace_at(self.root / CONTENTS, lambda file: file.write(content))


@contextmanager
def transaction(root: Path) -> Iterator[Transaction]:
    """Change a workspace: everything staged becomes visible at the end, or nothing after an error.

    Other writers to the same workspace wait. Within another transaction of the same thread, this one is part of it.
    """
    key = root.resolve()
    outer = _open.by_root.get(key)
    if outer is not None:
        with _part_of(outer):
            yield outer
        return
    with ExitStack() as stack:
        with write_errors(root):
            stack.enter_context(locked(root))
            _recover(root)
            folder = root / _STAGING / uuid.uuid4().hex[:12]
            stack.callback(_clean, root, folder)
            folder.mkdir(parents=True)
        _open.by_root[key] = opened = Transaction(root, folder)
        try:
            yield opened
        finally:
            del _open.by_root[key]
        opened._commit()


@contextmanager
def _part_of(outer: Transaction) -> Iterator[None]:
    """An inner transaction: an error undoes what it has staged, even if the error is handled further out."""
    before = dict(outer._steps)
    outer._parts += 1
    try:
        yield
    except BaseException:
        outer._steps = before
        raise
    finally:
        outer._parts -= 1


def recover(root: Path) -> None:
    """Complete the committed changes of a killed process, and remove its uncommitted ones; skip if one is running."""
    if not (root / _STAGING).is_dir():
        return
    with locked_if_free(root) as free:
        if free:
            _recover(root)


def _recover(root: Path) -> None:
    """The same with the lock held: everything staged is then from a killed process."""
    base = root / _STAGING
    for folder in sorted(base.iterdir()) if base.is_dir() else ():
        if (folder / _JOURNAL).is_file():
            with write_errors(root):
                _carry_out(root, folder)
        _clean(root, folder)
    _remove_if_empty(base)


def _carry_out(root: Path, folder: Path) -> None:
    """Make the changes of a journal that are not made yet."""
    steps = _read_journal(folder / _JOURNAL)
    for step in steps:
        _make(root, step)
    for changed in _changed_folders(root, folder, steps):
        sync_folder(changed)
    (folder / _JOURNAL).unlink()
    with suppress(OSError):  # all changes are made and flushed already
        sync_folder(folder)
    for left in {(root / place).parent for step in steps for place in (step.staged, step.final)}:
        _remove_empty_parents(root, left)


def _changed_folders(root: Path, folder: Path, steps: Iterable[_Step]) -> set[Path]:
    """The folders whose entries the steps change, without those of the staging folder."""
    changed = {(root / place).parent for step in steps for place in (step.staged, step.final) if place}
    return {parent for parent in changed if parent.is_dir() and not parent.is_relative_to(folder)}


def _carry_out_or_undo(root: Path, folder: Path) -> None:
    """Make the changes of a journal; if one fails, undo those before it."""
    try:
        sync_folder(folder)
        _carry_out(root, folder)
    except OSError:
        for step in reversed(_read_journal(folder / _JOURNAL)):
            _unmake(root, step)
        (folder / _JOURNAL).unlink()
        raise


def _read_journal(path: Path) -> list[_Step]:
    try:
        return [_Step(**step) for step in cast(list[dict[str, str]], json.loads(path.read_bytes()))]
    except (ValueError, TypeError) as error:
        raise FormatError(f"{path} is damaged, and a change to the workspace is half made: {error}") from None


def _make(root: Path, step: _Step) -> None:
    staged, final, old = root / step.staged, root / step.final, root / step.old
    if step.staged and not staged.exists():
        return  # already made before the process was killed
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.is_dir() or (final.exists() and not step.staged):
        final.rename(old)
    elif final.exists() and not old.exists():
        os.link(final, old)  # the older file stays in place until the new one replaces it
    if step.staged:
        staged.replace(final)


def _unmake(root: Path, step: _Step) -> None:
    staged, final, old = root / step.staged, root / step.final, root / step.old
    if step.staged and final.exists() and not staged.exists():
        final.rename(staged)
    if old.exists() and not final.exists():
        old.rename(final)


def _clean(root: Path, folder: Path) -> None:
    """Remove the folder of a finished transaction; keep it if its journal is left to the next command."""
    if not (folder / _JOURNAL).is_file():
        shutil.rmtree(folder, ignore_errors=True)
    _remove_if_empty(root / _STAGING)


def _remove_empty_parents(root: Path, folder: Path) -> None:
    """Remove a folder and those above it up to one that is not empty."""
    with suppress(OSError):  # not empty or missing
        while folder.is_relative_to(root) and folder != root:
            folder.rmdir()
            folder = folder.parent


def _check_moves(steps: Iterable[_Step], moved: set[str]) -> None:
    """Raise if a step changes what another one moves: a recovery could not tell which of them was made."""
    around = {str(parent) for place in moved for parent in PurePosixPath(place).parents}
    done: set[str] = set()
    for step in steps:
        is_around = step.final in around and (step.staged or not moved.issubset(done))
        if is_around or step.final in moved or not moved.isdisjoint(map(str, PurePosixPath(step.final).parents)):
            raise StoreError(f"{step.final} is both changed and moved by one command")
        done.add(step.staged)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # not empty or missing
        folder.rmdir()
