"""Databases for tests of the ledger: new ledgers at little cost, without waiting for the disk."""

import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from failing_database import listening

from regrade.ledger.database import open_database

if TYPE_CHECKING:
    import psycopg


@contextmanager
def without_disk_sync() -> Iterator[None]:
    """Let SQLite not wait for the disk: tests kill processes, but do not cut the power."""

    def disable_sync(connection, _) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous=OFF")

    with listening("connect", disable_sync):
        yield


class NewFiles:
    """Creates new ledgers in SQLite by copying a template."""

    def __init__(self, folder: Path) -> None:
        self._template = folder / "new.sqlite"
        open_database(self._template).dispose()

    def put(self, path: Path) -> Path:
        """Create a new ledger at a path, with its own id as if created by `open_database`."""
        shutil.copy(self._template, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("UPDATE secret SET value = ? WHERE name = 'ledger'", (uuid.uuid4().hex,))
        return path


_STRUCTURE = """
SELECT ARRAY(SELECT row(tgrelid, tgenabled, pg_get_triggerdef(oid))::text FROM pg_trigger ORDER BY oid)
    || ARRAY(SELECT row(attrelid, attnum, attname, atttypid, attnotnull)::text FROM pg_attribute
             WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
             ORDER BY attrelid, attnum)
    || ARRAY(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
             ORDER BY oid)
    || ARRAY(SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname)
    || ARRAY(SELECT definition FROM pg_rules WHERE schemaname = 'public' ORDER BY rulename)
    || ARRAY(SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY oid)
    || ARRAY(SELECT setting::text FROM pg_db_role_setting setting ORDER BY setting::text)
    || ARRAY(SELECT version_num::text FROM alembic_version)
"""
_EMPTY = """
SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
SET session_replication_role = replica;
{deletions}
SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
"""


class PostgresDatabase:
    """A database with a new ledger: the previous test's database, emptied, or a new one if its schema was changed."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._name = ""
        self._structure: list[str] = []

    def renewed(self) -> str:
        """The URL of the database, without any rows."""
        if not (self._name and self._emptied()):
            self.drop()
            self._create()
        return self._address

    def drop(self) -> None:
        if self._name:
            self._on_server(f"DROP DATABASE {self._name} WITH (FORCE)")

    @property
    def _address(self) -> str:
        return self._server.replace("/postgres?", f"/{self._name}?")

    def _create(self) -> None:
        self._name = f"ledger_{uuid.uuid4().hex}"
        self._on_server(f"CREATE DATABASE {self._name}")
        open_database(self._address).dispose()
        with self._connected(self._address) as connection:
            self._structure = _structure(connection)

    def _emptied(self) -> bool:
        """Delete all rows; returns False if the schema was changed, and the database must be created again."""
        with self._connected(self._address) as connection:
            if _structure(connection) != self._structure:
                return False
            tables = connection.execute(
                "SELECT quote_ident(tablename) FROM pg_tables "
                "WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
            )
            connection.execute(_EMPTY.format(deletions="".join(f"DELETE FROM {name};" for (name,) in tables)))
        return True

    def _on_server(self, statement: str) -> None:
        with self._connected(self._server) as connection:
            connection.execute(statement)

    @staticmethod
    def _connected(address: str) -> "psycopg.Connection":
        import psycopg

        return psycopg.connect(address, autocommit=True)


def _structure(connection: "psycopg.Connection") -> list[str]:
    """Everything in a database except the rows of the ledger."""
    return connection.execute(_STRUCTURE).fetchone()[0]
