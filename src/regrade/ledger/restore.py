"""Restore a SQLite ledger from a backup: the backup is checked first, and the existing ledger is moved aside.

A leftover ``-wal`` file of a lost ledger would damage the file that replaces it, because SQLite reads its pages as part
of the new file. The two are therefore always moved together.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import inspect

from regrade.core import InputError, LedgerDamaged, LedgerRefused, LedgerUnavailable, StoreError, refusal
from regrade.ledger.ledger import Ledger
from regrade.ledger.ledger_file import SIBLING_SUFFIXES, close_journal, has_journal, sibling, temporary_file
from regrade.ledger.schema import metadata, now_in_utc

_LOCKED_WHILE_OPEN = (("", 0x40000000, 512), ("-shm", 128, 1))
"""Bytes that SQLite locks while a connection is open (os_unix.c: PENDING_BYTE to SHARED_SIZE; UNIX_SHM_DMS)."""
_ALWAYS = {"alembic_version", "person", "queue", "item", "vote"}  # tables of every schema version of a ledger


@dataclass(frozen=True)
class CheckedBackup:
    """A private copy of a backup, checked and migrated, and the ledger in it."""

    path: Path
    ledger: Ledger


@contextmanager
def checked_backup(file: Path, path: Path) -> Iterator[CheckedBackup]:
    """A temporary copy of a backup next to the ``path`` of a ledger; raises if the file is not an intact ledger."""
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    path = path.resolve()
    if not path.parent.is_dir():
        raise StoreError(f"the ledger {path} cannot be restored: there is no folder {path.parent}")
    if path.exists() and file.samefile(path):
        raise InputError(f"{file} is the ledger itself: give a copy that `regrade review backup` wrote")
    with temporary_file(path) as staged:
        _copy_checked(file, staged)
        ledger = _migrated(file, staged)
        try:
            yield CheckedBackup(staged, ledger)
        finally:
            ledger.engine.dispose()


def put_in_place(backup: CheckedBackup, path: Path) -> Path | None:
    """Move a checked backup to a ledger's path, and return the new path of the ledger that was there, if any.

    Raises if another process has the ledger open. If this is interrupted, there is no ledger at its path, but never a
    file with the ``-wal`` of another.
    """
    path = path.resolve()
    backup.ledger.engine.dispose()
    close_journal(backup.path)
    try:
        with _not_in_use(path):
            kept = _set_aside(path)
            os.link(backup.path, path)
    except OSError as error:
        raise LedgerRefused(f"the ledger {path} cannot be restored: {refusal(error)}") from error
    return kept


def _copy_checked(file: Path, staged: Path) -> None:
    """Copy a database with its journal; raises if it is damaged or not a ledger."""
    options = "mode=ro" if has_journal(file) else "mode=ro&immutable=1"  # creates no files next to the backup
    address = f"file:{quote(os.fsencode(file.absolute()))}?{options}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(staged)) as target:
            source.backup(target)
            (problem,) = target.execute("PRAGMA integrity_check(1)").fetchone()
            tables = {name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise LedgerDamaged(f"{file} is not restored: it is damaged, or is not a ledger ({error})") from None
    if problem != "ok":
        raise LedgerDamaged(f"{file} is not restored: it is damaged ({' '.join(problem.split())})")
    if not tables >= _ALWAYS:
        raise LedgerDamaged(f"{file} is not restored: it is not a ledger (no table {min(_ALWAYS - tables)})")


def _migrated(file: Path, staged: Path) -> Ledger:
    """Open and migrate the ledger in a copy; raises if a newer regrade wrote it, or tables are missing."""
    try:
        ledger = Ledger.open(staged)
    except StoreError as error:
        raise type(error)(str(error).replace(str(staged), str(file))) from None
    missing = metadata.tables.keys() - set(inspect(ledger.engine).get_table_names())
    if missing:
        ledger.engine.dispose()
        raise LedgerDamaged(f"{file} is not restored: it is damaged (no table {min(missing)})")
    return ledger


@contextmanager
def _not_in_use(path: Path) -> Iterator[None]:
    """Lock a ledger against other processes; raises if one of them has it open.

    This takes SQLite's file locks directly: a connection would first write the -wal into the file, and the -wal may
    belong to another file.
    """
    with ExitStack() as stack:
        for suffix, start, length in _LOCKED_WHILE_OPEN:
            file = sibling(path, suffix)
            if not file.exists():
                continue
            handle = stack.enter_context(file.open("rb+"))
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
            except BlockingIOError:
                raise LedgerUnavailable(
                    f"the ledger {path} is in use by another process: stop `regrade serve` and other commands first"
                ) from None
        yield


def _set_aside(path: Path) -> Path | None:
    """Rename a ledger together with its -wal, -shm and -journal files, and return the new path; None if there is none.

    All files are linked to their new names before the old ones are removed, the ledger's own first.
    """
    suffixes = [suffix for suffix in ("", *SIBLING_SUFFIXES) if sibling(path, suffix).exists()]
    if not suffixes:
        return None
    kept = path.with_name(f"{path.name}.replaced-{now_in_utc():%Y%m%dT%H%M%S.%fZ}")
    linked: list[Path] = []
    try:
        for suffix in suffixes:
            os.link(sibling(path, suffix), sibling(kept, suffix))
            linked.append(sibling(kept, suffix))
    except OSError:
        for file in linked:
            file.unlink()
        raise
    for suffix in suffixes:
        sibling(path, suffix).unlink()
    return kept
