"""The file of a ledger in SQLite: created atomically, private, checked for replacement, copied while in use."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine

from regrade.core import AlreadyStored, InputError, LedgerRefused, LedgerUnavailable, StoreError, refusal

RESTORE = "restore it from a backup (`regrade review restore FILE`)"
"""Advice for errors about a lost ledger."""

_OPENED = "regrade file"  # key in a connection's info: which file it has open
_NORMAL = 1  # PRAGMA synchronous=NORMAL: sync at checkpoints, not at every commit
SIBLING_SUFFIXES = ("-wal", "-shm", "-journal")  # suffixes of the files that SQLite keeps next to a database

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""File mode 600: only the owner may read and write."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOG = logging.getLogger(__name__)


def sqlite_url(path: Path) -> URL:
    """The URL of a database file, whatever characters its path has."""
    return URL.create("sqlite", database=str(path))


def create_database(path: Path, fill: Callable[[Path], object]) -> None:
    """Create a database if there is none: it is filled under a temporary name and renamed when complete.

    Raises if the file is empty or only its -wal file is left: a new ledger must not replace one that was lost.
    """
    path = path.resolve()  # follows symbolic links, also dangling ones
    check_remains(path)
    if path.exists():
        return
    with temporary_file(path) as staged, suppress(FileExistsError):  # another process may create it at the same time
        fill(staged)
        close_journal(staged)
        os.link(staged, path)


def check_remains(path: Path) -> None:
    """Raise if only a part of a database is left, or its folder is missing."""
    if not path.parent.is_dir():
        raise StoreError(f"the ledger {path} cannot be created: there is no folder {path.parent}")
    if path.is_file() and path.stat().st_size == 0:
        raise StoreError(f"the ledger {path} is empty: {RESTORE}, or remove it to start a new one")
    if not path.exists() and sibling(path, "-wal").exists():
        raise StoreError(f"the ledger {path} is missing, only {path.name}-wal is left: {RESTORE}")


def connect(path: Path, *, wait: float) -> sqlite3.Connection:
    """Connect to an existing database file; never creates one.

    On a read-only disk the file is opened as immutable, since SQLite would refuse it otherwise.
    """
    connection = _connected(path, "mode=ro&immutable=1" if _is_read_only(path) else "mode=rw", wait)
    if not _is_read_only(path):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    return connection


def connect_to_read(path: Path, *, wait: float) -> sqlite3.Connection:
    """Connect to a database file without writing to it or creating files next to it."""
    return _connected(path, "mode=ro" if has_journal(path) else "mode=ro&immutable=1", wait)


def has_journal(path: Path) -> bool:
    """Whether there are -wal, -shm or -journal files next to a database."""
    return any(sibling(path, suffix).exists() for suffix in SIBLING_SUFFIXES)


def _connected(path: Path, options: str, wait: float) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path.absolute()))}?{options}"
    connection = sqlite3.connect(address, uri=True, timeout=wait, check_same_thread=False)
    connection.isolation_level = None  # transactions are begun explicitly
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


@contextmanager
def unsynced(connection: Connection) -> Iterator[None]:
    """Do not wait for the disk at commits: a power failure may lose the last transactions, and nothing else.

    The next transaction that waits also syncs the ones before it, since all are in the same log.
    """
    with _setting(connection, "synchronous", lambda level: min(level, _NORMAL)):
        yield


def without_foreign_keys(connection: Connection) -> AbstractContextManager[None]:
    """Do not check foreign keys; has no effect within a transaction."""
    return _setting(connection, "foreign_keys", lambda _: 0)


@contextmanager
def _setting(connection: Connection, name: str, change: Callable[[int], int]) -> Iterator[None]:
    """Change a PRAGMA of a connection for a while."""
    driver = connection.connection.driver_connection
    if driver is None:
        raise StoreError("the ledger is closed")
    (value,) = driver.execute(f"PRAGMA {name}").fetchone()
    driver.execute(f"PRAGMA {name}={change(value)}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA {name}={value}")


def note_file(path: Path, info: dict[str, object]) -> None:
    """Record which file a new connection has open."""
    info[_OPENED] = _identity(path)


def chosen_identity(connection: sqlite3.Connection) -> str | None:
    """The random id of a ledger, or None if it has none yet."""
    try:
        row = connection.execute("SELECT value FROM secret WHERE name = 'ledger'").fetchone()
    except sqlite3.OperationalError:  # the table does not exist yet
        return None
    return None if row is None else str(row[0])


def check_file(connection: Connection) -> None:
    """Raise if a connection's file is no longer the one at its path: anything written would be lost."""
    opened = connection.info.get(_OPENED)
    if opened is None:
        return
    path = Path(connection.engine.url.database or "")
    if _identity(path) != opened:
        connection.engine.dispose()  # new connections open the file that is at the path then
        raise LedgerUnavailable(
            f"the ledger {path} was removed or replaced while it was in use, and nothing was saved: put the file back, "
            f"or {RESTORE}"
        )


def back_up(engine: Engine, path: Path) -> None:
    """Copy a ledger in a consistent state to a new file that only its owner may read, while others go on writing."""
    if engine.dialect.name != "sqlite":
        raise InputError(
            "this ledger is in PostgreSQL: back it up with pg_dump, or export it with regrade review export"
        )
    if not path.name:
        raise InputError("the backup needs a file name")
    with temporary_file(path) as staged:
        copy_database(engine, staged)
        close_journal(staged)
        try:
            os.link(staged, path)
        except FileExistsError:
            raise AlreadyStored(f"{path} exists already: choose another name, or remove it first") from None


def copy_database(engine: Engine, path: Path) -> None:
    """Copy a SQLite database in a consistent state to a file."""
    with engine.connect() as connection, closing(sqlite3.connect(path)) as target:
        source = connection.connection.driver_connection
        if source is None:
            raise StoreError("the ledger is closed")
        try:
            source.backup(target)
        except sqlite3.Error as error:
            raise LedgerRefused(f"the ledger cannot be copied to {path.parent}: {error}") from error


@contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """An empty private file next to a path; it and SQLite's files next to it are deleted afterwards."""
    staged = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        os.close(os.open(staged, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        yield staged
    except OSError as error:
        raise LedgerRefused(f"the ledger {path} cannot be created: {refusal(error)}") from error
    finally:
        for file in (staged, *(sibling(staged, suffix) for suffix in SIBLING_SUFFIXES)):
            file.unlink(missing_ok=True)


def close_journal(path: Path) -> None:
    """Move the contents of the journal into the database file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def _is_read_only(path: Path) -> bool:
    """Whether a file without a -wal file is in a folder that cannot be written to."""
    return not os.access(path.parent, os.W_OK) and not sibling(path, "-wal").exists()


def sibling(path: Path, suffix: str) -> Path:
    """The path of a file that SQLite keeps next to a database, or of the database itself if the suffix is empty."""
    return path.with_name(path.name + suffix)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size else None


def keep_private(path: Path) -> None:
    """Make a SQLite file and its -wal and -shm files accessible to their owner only.

    SQLite creates -wal and -shm files with the mode of the main file, so call this before opening it.
    """
    _restrict([sibling(path.resolve(), suffix) for suffix in ("", "-wal", "-shm")])


def _restrict(files: list[Path]) -> None:
    """Make files accessible to their owner only, and log one line if that changed anything."""
    wide = [file for file in files if file.is_file() and file.stat().st_mode & _OTHERS]
    if not wide:
        return
    mode = stat.S_IMODE(wide[0].stat().st_mode)
    try:
        for file in wide:
            file.chmod(PRIVATE)
    except OSError as error:
        _LOG.warning(
            "warning: %s is readable by other users (mode %03o), and its mode cannot be changed: %s; set it to 600",
            wide[0], mode, refusal(error),
        )  # fmt: skip
    else:
        _LOG.warning("%s was readable by other users (mode %03o): now only its owner can read it", wide[0], mode)
