"""Open and migrate the database of a ledger, in SQLite or PostgreSQL, and run transactions in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
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
from sqlalchemy import (
    Connection,
    Engine,
    Executable,
    Insert,
    RowMapping,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, InvalidatePoolError
from sqlalchemy.pool import StaticPool

from regrade.core import AlreadyStored, InputError, LedgerUnavailable, StoreError, VersionError
from regrade.ledger.database_errors import first_line, shown_place, translate_errors
from regrade.ledger.ledger_file import (
    check_file,
    check_remains,
    chosen_identity,
    connect,
    connect_to_read,
    copy_database,
    create_database,
    keep_private,
    note_file,
    sqlite_url,
    unsynced,
    without_foreign_keys,
)
from regrade.ledger.schema import secret

_CONNECTIONS = 20  # connections that stay open; up to ten more are opened on demand
_CONNECT_TIMEOUT = 10  # seconds to wait for a PostgreSQL server
_MAX_IDLE = 1.0  # seconds after which an idle connection to PostgreSQL is tested before it is used again
_WAIT = 30.0  # seconds that a writer waits for another
_FILLING = 0x72656772616466  # PostgreSQL advisory lock: one process at a time fills queues
_SCRIPTS = Path(__file__).parent / "migrations"
_IDENTITY = select(secret.c.value).where(secret.c.name == "ledger")
_migrating = Lock()  # Alembic keeps its state in module globals
_write_locks: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()  # by SQLite engine: one writer at a time


def open_database(place: str | Path) -> Engine:
    """Open the database of a ledger: a file, created if missing, or a URL such as ``postgresql://host/name``."""
    if isinstance(place, Path) or "://" not in place:
        create_database(Path(place), _fill_new)
        return _upgraded(_sqlite(Path(place)))
    return _upgraded(_postgres(place))


@contextmanager
def unchanged_database(place: str | Path) -> Iterator[Engine]:
    """Open the database of an existing ledger without writing to it, for checks.

    A SQLite database with an older schema is migrated in a private copy; one in PostgreSQL raises.
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
                "`regrade review list` upgrades it"
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
    """The random id of a ledger; it is chosen when the ledger is created."""
    chosen = stored_identity(engine)
    if chosen is not None:
        return chosen
    with writing(engine) as connection:
        put_once(connection, secret, {"name": "ledger"}, value=uuid.uuid4().hex)
        return str(connection.execute(_IDENTITY).scalar_one())


def stored_identity(engine: Engine) -> str | None:
    """The random id of a ledger, or None if it has none yet."""
    with engine.connect() as connection:
        chosen = connection.execute(_IDENTITY).scalar()
    return None if chosen is None else str(chosen)


def _fill_new(path: Path) -> None:
    """Create the tables and the id of a ledger in an empty file."""
    engine = _upgraded(_sqlite(path))
    identity(engine)
    engine.dispose()


def schema_objects(connection: Connection) -> dict[str, str]:
    """The SQL of the tables, indexes, views and triggers of a SQLite database, by name, such as ``table vote``.

    Spaces and quotes are removed: they depend on the versions of the libraries that created the schema.
    """
    stored = connection.exec_driver_sql(
        "SELECT type, name, sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'"
    )
    return {f"{kind} {name}": "".join(str(sql).replace('"', "").split()) for kind, name, sql in stored}


@cache
def expected_schema() -> dict[str, str]:
    """The schema objects of a new ledger in SQLite."""
    engine = _upgraded(create_engine("sqlite://", poolclass=StaticPool))
    with engine.connect() as connection:
        return schema_objects(connection)


def _upgraded(engine: Engine) -> Engine:
    """Migrate a database to the newest schema; if that fails, the engine is closed."""
    with _failures_as_errors(engine):
        if _is_outdated(engine):
            with _migrating:
                command.upgrade(_migrations(engine), "head")
    return engine


@contextmanager
def _failures_as_errors(engine: Engine) -> Iterator[None]:
    """Translate the errors of an engine from now on; if the database cannot be opened, the engine is closed."""
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
    """A write transaction; in SQLite there is one at a time.

    Writers of one process wait for a lock, which the next one gets at once; SQLite itself would poll.
    """
    with _write_lock(engine), _connected_to_write(engine) as connection, _transaction(connection):
        yield connection


@contextmanager
def migrating(engine: Engine) -> Iterator[Connection]:
    """A write transaction in which tables can be written anew: SQLite checks foreign keys again after it."""
    with _write_lock(engine), _connected_to_write(engine) as connection:
        if engine.dialect.name == "sqlite":
            with without_foreign_keys(connection), _transaction(connection):
                yield connection
        else:
            with _transaction(connection):
                yield connection


@contextmanager
def writing_unsynced(engine: Engine) -> Iterator[Connection]:
    """A write transaction that may be lost in a power failure: SQLite does not wait for the disk."""
    with _write_lock(engine), _connected_to_write(engine) as connection:
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
    check_file(connection)  # raises if the file was removed meanwhile: nothing was saved then


@contextmanager
def filling(engine: Engine) -> Iterator[None]:
    """Hold the lock for filling queues, so that no two processes add the same items.

    PostgreSQL only: a ledger in a file belongs to one workspace, whose lock does the same.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    with engine.connect() as connection:  # autocommit: no transaction stays open
        connection.execute(select(func.pg_advisory_lock(_FILLING)))
        try:
            yield
        finally:
            connection.execute(select(func.pg_advisory_unlock(_FILLING)))


@contextmanager
def _write_lock(engine: Engine) -> Iterator[None]:
    """Hold the write lock of a SQLite engine; raises after the time that SQLite itself would wait."""
    lock = _write_locks.get(engine)
    if lock is None:  # PostgreSQL allows concurrent writers
        yield
        return
    if not lock.acquire(timeout=_WAIT):
        raise LedgerUnavailable(
            f"the ledger {shown_place(engine)} is locked: another thread has been writing for too long; try again later"
        )
    try:
        yield
    finally:
        lock.release()


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A read transaction that sees a single state, whatever others write meanwhile."""
    options = {"regrade_begin": "BEGIN", **_isolation(engine, "REPEATABLE READ")}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def _isolation(engine: Engine, level: str) -> dict[str, Any]:
    """The option that starts a transaction on a PostgreSQL connection."""
    return {"isolation_level": level} if engine.dialect.name == "postgresql" else {}


def _sqlite(path: Path) -> Engine:
    keep_private(path)
    engine = create_engine(sqlite_url(path), creator=lambda: connect(path, wait=_WAIT), pool_size=_CONNECTIONS)
    identities: set[str] = set()
    _write_locks[engine] = Lock()

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        note_file(path, record.info)
        identity = chosen_identity(connection)
        if identity is not None and identities - {identity}:
            connection.close()
            raise LedgerUnavailable(f"the ledger {path} was replaced by another one while it was in use: put it back")
        identities.update({identity} if identity else ())

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        statement = connection.get_execution_options().get("regrade_begin")
        if statement is not None:  # plain reads need no transaction
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
        raise InputError("the ledger's URL is not valid: give a file or postgresql://user@host/name") from None
    if url.get_backend_name() != "postgresql":
        raise InputError(f"a ledger must be in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    limit = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_TIMEOUT}
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=_CONNECTIONS,
        connect_args=limit,
        isolation_level="AUTOCOMMIT",  # plain reads need no transaction, which would take two more messages
    )
    _test_idle_connections(engine)
    return engine


def _test_idle_connections(engine: Engine) -> None:
    """Replace connections that were closed while they were idle.

    `pool_pre_ping` would send a message before every use. A connection that was used a moment ago needs none: if the
    server has closed it, it has sent input.
    """

    @event.listens_for(engine, "checkin")
    def returned(_: object, record: Any) -> None:
        record.info["regrade returned"] = monotonic()

    @event.listens_for(engine, "checkout")
    def checked_out(connection: Any, record: Any, _: object) -> None:
        idle = monotonic() - record.info.get("regrade returned", monotonic())
        if idle < _MAX_IDLE and not _has_input(connection):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError(str(error)) from error


def _has_input(connection: Any) -> bool:
    """Whether the server has sent something unrequested."""
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
    """The schema revisions of a ledger, newest first."""
    return tuple(script.revision for script in ScriptDirectory(str(_SCRIPTS)).walk_revisions())


def _is_outdated(engine: Engine) -> bool:
    """Whether a database has an older schema; one that is newer than this regrade raises."""
    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision is not None and revision not in _revisions():
        raise VersionError(f"the ledger {shown_place(engine)} was written by a newer regrade: please upgrade")
    return revision != _revisions()[0]


def added_row(connection: Connection, row: Insert, table: Table, complaint: str) -> RowMapping:
    """Insert a row and return it; raises `AlreadyStored` with the complaint if the database rejects it."""
    try:
        return connection.execute(row.returning(*table.c)).mappings().one()
    except IntegrityError:
        raise AlreadyStored(complaint) from None


def put(connection: Connection, table: Table, key: dict[str, Any], **values: Any) -> None:
    """Insert a row by its primary key, or update the existing row."""
    connection.execute(_upsert(connection.dialect.name, table, tuple(key), tuple(values)), {**key, **values})


def put_once(connection: Connection, table: Table, key: dict[str, Any], **values: Any) -> None:
    """Insert a row by its primary key unless it exists; safe if others do the same concurrently."""
    row = _insert(connection.dialect.name)(table).values(**key, **values)
    connection.execute(row.on_conflict_do_nothing(index_elements=list(key)))


def _insert(dialect: str) -> Callable[[Table], postgresql.Insert | sqlite.Insert]:
    return postgresql.insert if dialect == "postgresql" else sqlite.insert


@cache
def _upsert(dialect: str, table: Table, key: tuple[str, ...], values: tuple[str, ...]) -> Executable:
    row = _insert(dialect)(table).values({name: bindparam(name) for name in (*key, *values)})
    return row.on_conflict_do_update(index_elements=key, set_={name: row.excluded[name] for name in values})
