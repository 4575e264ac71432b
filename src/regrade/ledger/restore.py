"""Putting a backup in the place of a ledger in SQLite: it is checked before, and what was there is set aside whole.

A ``-wal`` file that a lost ledger left behind ruins whatever file takes its place: SQLite reads the pages in it as
part of the new one. The two are therefore always moved together.
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
from regrade.ledger.clock import now_in_utc
from regrade.ledger.ledger import Ledger
from regrade.ledger.ledger_file import BESIDE, beside, close_journal, has_journal, temporary_file
from regrade.ledger.schema import metadata

_LOCKED_WHILE_OPEN = (("", 0x40000000, 512), ("-shm", 128, 1))
"""Bytes that SQLite has locked while a connection is open (os_unix.c: PENDING_BYTE to SHARED_SIZE; UNIX_SHM_DMS)."""
_ALWAYS = {"alembic_version", "person", "queue", "item", "vote"}  # tables of a ledger in every form it has had


@dataclass(frozen=True)
class CheckedBackup:
    """A private copy of a backup, checked and brought to the newest form, and the ledger in it."""

    path: Path
    ledger: Ledger


@contextmanager
def checked_backup(file: Path, path: Path) -> Iterator[CheckedBackup]:
    """A copy of a backup beside the ``path`` of a ledger, gone afterwards; what is not a whole ledger raises."""
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    path = path.resolve()
    if not path.parent.is_dir():
        raise StoreError(f"the ledger {path} cannot be restored: there is no folder {path.parent}")
    if path.exists() and file.samefile(path):
        raise InputError(f"{file} is the ledger itself: give a copy that `regrade review backup` made")
    with temporary_file(path) as staged:
        _copy_whole(file, staged)
        ledger = _newest_form(file, staged)
        try:
            yield CheckedBackup(staged, ledger)
        finally:
            ledger.engine.dispose()


def put_in_place(backup: CheckedBackup, path: Path) -> Path | None:
    """Give a checked backup a ledger's place, and return what the ledger that was there is called now, if any was.

    A ledger that another process has open raises. If this is interrupted, there is no ledger at its place, never a
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


def _copy_whole(file: Path, staged: Path) -> None:
    """Copy a database as its file and its journal say, if SQLite finds it whole and it is a ledger."""
    options = "mode=ro" if has_journal(file) else "mode=ro&immutable=1"  # nothing is written beside a whole file
    address = f"file:{quote(os.fsencode(file.absolute()))}?{options}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(staged)) as target:
            source.backup(target)
            (trouble,) = target.execute("PRAGMA integrity_check(1)").fetchone()
            tables = {name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise LedgerDamaged(f"{file} is not restored: it is damaged, or is not a ledger ({error})") from None
    if trouble != "ok":
        raise LedgerDamaged(f"{file} is not restored: it is damaged ({' '.join(trouble.split())})")
    if not tables >= _ALWAYS:
        raise LedgerDamaged(f"{file} is not restored: it is not a ledger (no table {min(_ALWAYS - tables)})")


def _newest_form(file: Path, staged: Path) -> Ledger:
    """The ledger in a copy; one that a newer regrade wrote, or that lacks tables, raises."""
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
    """Let no other process open a ledger; one that has it open already raises.

    SQLite's own connection would first write the -wal into the file, which may belong to another: only the locks are
    taken.
    """
    with ExitStack() as stack:
        for suffix, start, length in _LOCKED_WHILE_OPEN:
            file = beside(path, suffix)
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
    """Give a ledger and all that SQLite keeps beside it a new name together, and return it; none if nothing is there.

    All have both names before the first loses its old one, and the file itself loses it first.
    """
    suffixes = [suffix for suffix in ("", *BESIDE) if beside(path, suffix).exists()]
    if not suffixes:
        return None
    kept = path.with_name(f"{path.name}.replaced-{now_in_utc():%Y%m%dT%H%M%S.%fZ}")
    linked: list[Path] = []
    try:
        for suffix in suffixes:
            os.link(beside(path, suffix), beside(kept, suffix))
            linked.append(beside(kept, suffix))
    except OSError:
        for file in linked:
            file.unlink()
        raise
    for suffix in suffixes:
        beside(path, suffix).unlink()
    return kept
