"""Opening a ledger's database: SQLite in a file, or PostgreSQL by its address, brought to the newest form."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryDirectory
from threading import Lock
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DatabaseError, InvalidatePoolError
from sqlalchemy.pool import StaticPool

from regrade.core import InputError, LedgerUnavailable, StoreError, VersionError
from regrade.ledger.database_errors import first_line, shown_place, translate_errors
from regrade.ledger.ledger_file import (
    check_file,
    check_remains,
    chosen_identity,
    connect,
    connect_to_read,
    copy_database,
    create_whole,
    note_file,
    sqlite_url,
    unsynced,
)
from regrade.ledger.private_file import keep_private
from regrade.ledger.schema import secret
from regrade.ledger.upsert import put_once

_CONNECTIONS = 20  # that stay open; ten more are opened where they are wanted
_CONNECTING = 10  # seconds after which a PostgreSQL server that does not answer is given up
_UNUSED = 1.0  # seconds after which a connection to PostgreSQL is tested before it is used again
_WAIT = 30.0  # seconds that a writer waits for another
_FILLING = 0x72656772616466  # of PostgreSQL's advisory locks: queues are filled by one process at a time
_SCRIPTS = Path(__file__).parent / "migrations"
_IDENTITY = select(secret.c.value).where(secret.c.name == "ledger")
_migrating = Lock()  # Alembic keeps what it works on in its module
_turns: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()  # whose turn it is to write, by SQLite's engine


def open_database(place: str | Path) -> Engine:
    """The database of a ledger: a file (made if missing) or an address such as ``postgresql://host/name``."""
    if isinstance(place, Path) or "://" not in place:
        create_whole(Path(place), _fill_new)
        return _upgraded(_sqlite(Path(place)))
    return _upgraded(_postgres(place))


@contextmanager
def unchanged_database(place: str | Path) -> Iterator[Engine]:
    """The database of a ledger that is there, for whoever checks it: nothing is written to it.

    One of an older form is brought to the newest form in a private copy; in PostgreSQL, of which there is none, it
    raises.
    """
    is_file = isinstance(place, Path) or "://" not in place
    engine = _sqlite_to_read(Path(place)) if is_file else _postgres_to_read(str(place))
    with _closed_afterwards(engine):
        with _failures_as_errors(engine):
            is_outdated = _is_outdated(engine)
        if not is_outdated:
            yield engine
            return
        if not is_file:
            raise StoreError(
                f"the ledger {shown_place(engine)} was written by an older regrade, or is empty, and is not checked: "
                "`regrade review list` brings it up to date"
            )
        with TemporaryDirectory(prefix="regrade-ledger-") as folder:
            path = Path(folder) / "ledger.sqlite"
            copy_database(engine, path)
            with _closed_afterwards(_upgraded(_sqlite(path))) as copy:
                yield copy


@contextmanager
def _closed_afterwards(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.dispose()


def identity(engine: Engine) -> str:
    """What tells a ledger from every other: a random text that was chosen when it was created."""
    chosen = stored_identity(engine)
    if chosen is not None:
        return chosen
    with writing(engine) as connection:
        put_once(connection, secret, {"name": "ledger"}, value=uuid.uuid4().hex)
        return str(connection.execute(_IDENTITY).scalar_one())


def stored_identity(engine: Engine) -> str | None:
    """What tells a ledger from every other; none where it is not chosen yet."""
    with engine.connect() as connection:
        chosen = connection.execute(_IDENTITY).scalar()
    return None if chosen is None else str(chosen)


def _fill_new(path: Path) -> None:
    """Make an empty file a ledger."""
    engine = _upgraded(_sqlite(path))
    identity(engine)
    engine.dispose()


def schema_objects(connection: Connection) -> dict[str, str]:
    """The tables, indexes, views and triggers of a database in SQLite, such as ``table vote``, each as it was written.

    Blanks and quotes are left out, which depend on the versions of the libraries that wrote it.
    """
    stored = connection.exec_driver_sql(
        "SELECT type, name, sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'"
    )
    return {f"{kind} {name}": "".join(str(sql).replace('"', "").split()) for kind, name, sql in stored}


@cache
def expected_schema() -> dict[str, str]:
    """What a ledger in SQLite has when it is new."""
    engine = _upgraded(create_engine("sqlite://", poolclass=StaticPool))
    with engine.connect() as connection:
        return schema_objects(connection)


def _upgraded(engine: Engine) -> Engine:
    """The database in its newest form; one that cannot be brought there is closed."""
    with _failures_as_errors(engine):
        if _is_outdated(engine):
            with _migrating:
                command.upgrade(_migrations(engine), "head")
    return engine


@contextmanager
def _failures_as_errors(engine: Engine) -> Iterator[None]:
    """Let an engine raise errors of regrade from now on; where it cannot be opened, it is closed."""
    translate_errors(engine)
    try:
        yield
    except DatabaseError as error:
        engine.dispose()
        reason = first_line(error.orig or error)
        raise StoreError(f"the ledger {shown_place(engine)} cannot be opened: {reason}") from None
    except StoreError:
        engine.dispose()
        raise


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: all of it or nothing, one at a time in SQLite.

    Writers of one process wait for each other here, where the next one goes on at once; SQLite itself would let them
    sleep and look again.
    """
    with _turn(engine), _connected_to_write(engine) as connection, _transaction(connection):
        yield connection


@contextmanager
def writing_unsynced(engine: Engine) -> Iterator[Connection]:
    """A transaction as `writing` gives, for what may be lost in a power cut: SQLite does not wait for the disk."""
    with _turn(engine), _connected_to_write(engine) as connection:
        if engine.dialect.name == "sqlite":
            with unsynced(connection), _transaction(connection):
                yield connection
        else:
            with _transaction(connection):
                yield connection


def _connected_to_write(engine: Engine) -> Connection:
    options = {"regrade_begin": "BEGIN IMMEDIATE", **_isolation(engine, "READ COMMITTED")}
    return engine.connect().execution_options(**options)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    with connection.begin():
        check_file(connection)
        yield
    check_file(connection)  # what was written to a file that is gone by now is not saved


@contextmanager
def filling(engine: Engine) -> Iterator[None]:
    """Hold the lock of those who fill queues: what one finds not to be asked yet stays so until its items are added.

    In PostgreSQL only; a ledger in a file belongs to one workspace, whose own lock does the same.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    with engine.connect() as connection:  # no transaction stays open meanwhile
        connection.execute(select(func.pg_advisory_lock(_FILLING)))
        try:
            yield
        finally:
            connection.execute(select(func.pg_advisory_unlock(_FILLING)))


@contextmanager
def _turn(engine: Engine) -> Iterator[None]:
    """The turn of a thread to write; whoever waits for as long as SQLite itself would is told that it is locked."""
    lock = _turns.get(engine)
    if lock is None:  # PostgreSQL has many writers at once
        yield
        return
    if not lock.acquire(timeout=_WAIT):
        raise LedgerUnavailable(f"the ledger {shown_place(engine)} is locked: others have been writing for too long")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state only, whatever others write meanwhile."""
    options = {"regrade_begin": "BEGIN", **_isolation(engine, "REPEATABLE READ")}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def _isolation(engine: Engine, level: str) -> dict[str, Any]:
    """The option that gives a connection to PostgreSQL a transaction."""
    return {"isolation_level": level} if engine.dialect.name == "postgresql" else {}


def _sqlite(path: Path) -> Engine:
    keep_private(path)
    engine = create_engine(sqlite_url(path), creator=lambda: connect(path, wait=_WAIT), pool_size=_CONNECTIONS)
    identities: set[str] = set()

    _turns[engine] = Lock()

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        note_file(path, record.info)
        identity = chosen_identity(connection)
        if identity is not None and identities - {identity}:
            connection.close()
            raise LedgerUnavailable(f"the ledger {path} was exchanged for another one while it was in use: put it back")
        identities.update({identity} if identity else ())

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        statement = connection.get_execution_options().get("regrade_begin")
        if statement is not None:  # what only reads needs no transaction
            connection.exec_driver_sql(statement)

    return engine


def _sqlite_to_read(path: Path) -> Engine:
    check_remains(path)
    engine = create_engine(sqlite_url(path), creator=lambda: connect_to_read(path, wait=_WAIT))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _postgres(address: str) -> Engine:
    try:
        url = make_url(address)
    except ArgumentError:
        raise InputError("the ledger's address is none: give a file or postgresql://user@host/name") from None
    if url.get_backend_name() != "postgresql":
        raise InputError(f"a ledger lives in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    limit = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECTING}
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=_CONNECTIONS,
        connect_args=limit,
        isolation_level="AUTOCOMMIT",  # what only reads needs no transaction, which would take two more messages
    )
    _test_unused(engine)
    return engine


def _test_unused(engine: Engine) -> None:
    """Let the pool exchange connections that have died while no one used them.

    `pool_pre_ping` sends a message before every use. A connection that was used a moment ago needs none: where the
    server has closed it since, there is something to read.
    """

    @event.listens_for(engine, "checkin")
    def returned(_: object, record: Any) -> None:
        record.info["regrade returned"] = monotonic()

    @event.listens_for(engine, "checkout")
    def taken(connection: Any, record: Any, _: object) -> None:
        unused = monotonic() - record.info.get("regrade returned", monotonic())
        if unused < _UNUSED and not _has_input(connection):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError(str(error)) from error


def _has_input(connection: Any) -> bool:
    """Whether a server has sent something that no one has asked for."""
    with DefaultSelector() as selector:
        selector.register(connection.fileno(), EVENT_READ)
        return bool(selector.select(0))


def _postgres_to_read(address: str) -> Engine:
    engine = _postgres(address)
    event.listen(engine, "connect", lambda connection, record: setattr(connection, "read_only", True))  # noqa: ARG005
    return engine


def _migrations(engine: Engine) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["engine"] = engine
    return config


@cache
def _revisions() -> tuple[str, ...]:
    """The forms that a ledger has had, newest first."""
    return tuple(script.revision for script in ScriptDirectory(str(_SCRIPTS)).walk_revisions())


def _is_outdated(engine: Engine) -> bool:
    """Whether a database is not in its newest form; one that is newer than this regrade is refused."""
    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision is not None and revision not in _revisions():
        raise VersionError(f"the ledger {shown_place(engine)} was written by a newer regrade: please upgrade")
    return revision != _revisions()[0]
