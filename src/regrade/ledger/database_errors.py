"""Translate database errors into errors of regrade: one line, with what to do next.

This covers every statement, commit and connection of a ledger's engine; no other module translates errors.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InterfaceError, OperationalError

from regrade.core import LedgerDamaged, LedgerRefused, LedgerUnavailable, StoreError

_READ_ONLY = (LedgerRefused, "cannot be written: its file or its disk is read-only, or permission is denied")
_FULL = (LedgerRefused, "cannot be written: the disk is full; free some space and try again (nothing was written)")
_LOCKED = (LedgerUnavailable, "is locked: another process has been writing to it for too long; try again later")
_NO_FILE = (LedgerUnavailable, "cannot be opened: its file or folder is missing or read-only, or permission is denied")
_BAD_DISK = (LedgerUnavailable, "cannot be used: its disk reports an I/O error; check the disk and the free space")
_DAMAGED = (LedgerDamaged, "cannot be opened: it is damaged, or is not a ledger; restore it from a backup")

_SQLITE = {
    "attempt to write a readonly database": _READ_ONLY,
    "database or disk is full": _FULL,
    "is locked": _LOCKED,
    "unable to open database file": _NO_FILE,
    "disk i/o error": _BAD_DISK,
    "database disk image is malformed": _DAMAGED,
    "malformed database schema": _DAMAGED,
    "file is not a database": _DAMAGED,
    "no such table": _DAMAGED,
    "no such column": _DAMAGED,
    "could not decode to utf-8": _DAMAGED,
}
"""By a part of SQLite's message; error codes are lost when another layer raises the error again."""

_PERHAPS_FULL = (_BAD_DISK, _NO_FILE)  # SQLite's messages if its -wal or -shm file cannot grow or be created
_WORKING_SPACE = 64 * 1024  # bytes that SQLite needs to open a ledger

_POSTGRES = {
    "25006": _READ_ONLY,  # read_only_sql_transaction
    "42501": _READ_ONLY,  # insufficient_privilege
    "53100": _FULL,  # disk_full
    "42P01": _DAMAGED,  # undefined_table
    "42703": _DAMAGED,  # undefined_column
    "XX001": _DAMAGED,  # data_corrupted
    "XX002": _DAMAGED,  # index_corrupted
}
"""By SQLSTATE."""


def translate_errors(engine: Engine) -> None:
    """Make an engine raise errors of regrade if its database fails; errors in statements are not translated."""

    @event.listens_for(engine, "handle_error")
    def translated(context: ExceptionContext) -> StoreError | None:
        if context.is_pre_ping:  # the pool opens a new connection
            return None
        place = shown_place(engine)
        if context.dialect.name == "sqlite":
            return _from_sqlite(context.original_exception, place)
        return _from_postgres(context, place)


def shown_place(engine: Engine) -> str:
    """The path or URL of a database, without its password."""
    return engine.url.database or "" if engine.dialect.name == "sqlite" else engine.url.render_as_string()


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _from_sqlite(error: BaseException, place: str) -> StoreError | None:
    message = str(error).lower()
    for part, translation in _SQLITE.items():
        if part in message:
            kind, reason = _FULL if translation in _PERHAPS_FULL and _disk_is_full(place) else translation
            hint = _wal_hint(place) if kind is LedgerDamaged else ""
            return kind(f"the ledger {place} {reason} ({first_line(error)}){hint}")
    return None


def _disk_is_full(place: str) -> bool:
    """Whether the disk of a ledger has no space or no inodes left."""
    try:
        disk = os.statvfs(Path(place).resolve().parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _WORKING_SPACE or (disk.f_files > 0 and disk.f_favail == 0)


def _wal_hint(place: str) -> str:
    """A possible cause of the damage if there is a -wal file next to the ledger."""
    wal = Path(f"{Path(place).resolve()}-wal")
    if not wal.exists():
        return ""
    return (
        f"; if the file was copied there by hand, {wal.name} belongs to the previous ledger and damages it: "
        "`regrade review restore FILE` installs a backup and moves both files aside"
    )


def _from_postgres(context: ExceptionContext, place: str) -> StoreError | None:
    error = context.original_exception
    reason = first_line(error)
    if (listed := _POSTGRES.get(getattr(error, "sqlstate", None) or "")) is not None:
        kind, message = listed
        return kind(f"the ledger {place} {message} ({reason})")
    if isinstance(context.sqlalchemy_exception, OperationalError | InterfaceError):
        problem = "cannot be opened" if context.connection is None else "does not answer"
        return LedgerUnavailable(f"the ledger {place} {problem}: {reason}; is the database running?")
    return None
