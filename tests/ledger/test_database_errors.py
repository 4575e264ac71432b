"""Database failures raise errors of regrade; nothing is partly written, and the ledger recovers."""

import sqlite3
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from failing_database import damage, full, raising, read_only
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from regrade.core import LedgerDamaged, LedgerRefused, LedgerUnavailable, StoreError
from regrade.ledger import Ledger, Role, database
from regrade.ledger.database import open_database, writing

WAIT_MS = 60_000
"""How long PostgreSQL waits for a session that it ends; without it, the session may end later."""


@pytest.fixture
def path(tmp_path, new_files):
    """A closed ledger in SQLite with one person."""
    ledger = Ledger.open(new_files.put(tmp_path / "ledger.sqlite"))
    ledger.people.add("Ada", Role.OWNER)
    ledger.engine.dispose()
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def opened(path):
    ledger = Ledger.open(path)
    yield ledger
    ledger.engine.dispose()


def reconnect(ledger):
    ledger.engine.dispose()


def test_read_only_database_rejects_writes_and_allows_reads(opened):
    reconnect(opened)
    with read_only():
        with pytest.raises(LedgerRefused, match=r"the ledger .*ledger.sqlite cannot be written: .*read-only"):
            opened.people.add("Bob", Role.OWNER)
        assert [person.name for person in opened.people.all()] == ["Ada"]
    reconnect(opened)
    assert opened.people.add("Bob", Role.OWNER).name == "Bob"


def test_full_disk_rejects_writes_completely(opened):
    reconnect(opened)
    with full(), pytest.raises(LedgerRefused, match="the disk is full"):
        for number in range(1000):
            opened.people.add(f"{number}" * 20, Role.OWNER)
    before = opened.people.all()
    reconnect(opened)
    assert opened.people.all() == before
    opened.people.add("Bob", Role.OWNER)


@pytest.mark.parametrize(
    "message, kind",
    [
        ("disk I/O error", LedgerUnavailable),
        ("unable to open database file", LedgerUnavailable),
        ("database is locked", LedgerUnavailable),
        ("database table is locked: vote", LedgerUnavailable),
        ("attempt to write a readonly database", LedgerRefused),
        ("database or disk is full", LedgerRefused),
        ("no such table: vote", LedgerDamaged),
    ],
)
def test_statement_errors_are_translated(opened, message, kind):
    with raising(message), pytest.raises(kind) as caught:
        opened.people.all()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert opened.people.all()


@pytest.mark.parametrize("message", ["disk I/O error", "unable to open database file"])
@pytest.mark.parametrize(("free_blocks", "free_inodes"), [(0, 100), (1000, 0)])
def test_full_disk_is_not_taken_for_a_failing_one(opened, monkeypatch, message, free_blocks, free_inodes):
    disk = SimpleNamespace(f_bavail=free_blocks, f_frsize=4096, f_files=1000, f_favail=free_inodes)
    with monkeypatch.context() as patch, raising(message), pytest.raises(LedgerRefused, match="the disk is full"):
        patch.setattr("os.statvfs", lambda _: disk)
        opened.people.all()


@pytest.mark.parametrize("message", ["file is not a database", "database disk image is malformed"])
def test_database_errors_are_translated(opened, message):
    with raising(message, sqlite3.DatabaseError), pytest.raises(LedgerDamaged, match="restore it from a backup"):
        opened.people.all()


def test_commit_errors_are_translated(opened, monkeypatch):
    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(opened.engine.dialect, "do_commit", fail)
        with pytest.raises(LedgerUnavailable, match="I/O error"):
            opened.people.add("Bob", Role.OWNER)
    assert len(opened.people.all()) == 1


def test_errors_in_statements_are_not_translated(opened):
    with pytest.raises(OperationalError, match="syntax error"), opened.engine.connect() as connection:
        connection.execute(text("SELEKT 1"))
    with pytest.raises(IntegrityError), writing(opened.engine) as connection:
        connection.execute(text("INSERT INTO person (name, role, joined) VALUES ('Ada', 'owner', '')"))


def test_open_rejects_damaged_files(path):
    damage(path)
    with pytest.raises(LedgerDamaged, match="malformed"):
        Ledger.open(path).people()
    path.write_text("hello, this is no database at all" * 100)
    with pytest.raises(LedgerDamaged, match="file is not a database"):
        open_database(path)


def test_open_rejects_a_folder(tmp_path):
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        open_database(tmp_path / "ledger.sqlite")


def test_write_to_a_locked_database_times_out(path, monkeypatch):
    monkeypatch.setattr(database, "_WAIT", 0.05)
    ledger = Ledger.open(path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="is locked"):
        ledger.people.add("Bob", Role.OWNER)
    writer.execute("ROLLBACK")
    writer.close()
    assert ledger.people.add("Bob", Role.OWNER)
    ledger.engine.dispose()


def test_write_times_out_if_another_thread_is_writing(opened, monkeypatch):
    monkeypatch.setattr(database, "_WAIT", 0.05)
    holding, done = Event(), Event()

    def hold():
        with writing(opened.engine):
            holding.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    holding.wait()
    with pytest.raises(LedgerUnavailable, match="is locked"):
        opened.people.add("Bob", Role.OWNER)
    done.set()
    thread.join()
    assert opened.people.add("Bob", Role.OWNER)


class TestPostgres:
    @pytest.fixture(params=["postgres"])
    def place(self, place):
        return place

    def test_transaction_that_loses_its_connection_is_rolled_back(self, ledger):
        with pytest.raises(LedgerUnavailable, match="does not answer"), writing(ledger.engine) as connection:
            connection.execute(text("INSERT INTO person (name, role, joined) VALUES ('Bob', 'owner', '')"))
            process_id = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with ledger.engine.connect() as second:
                second.execute(text(f"SELECT pg_terminate_backend({process_id}, {WAIT_MS})"))
            connection.execute(text("SELECT 1"))
        assert ledger.people.all() == ()
        assert ledger.people.add("Ada", Role.OWNER).name == "Ada"

    def test_closed_idle_connections_are_replaced(self, ledger):
        connections = [ledger.engine.connect() for _ in range(3)]
        for connection in connections:
            connection.execute(text("SELECT 1"))
            connection.close()
        with ledger.engine.connect() as connection:
            end = f"SELECT bool_and(pg_terminate_backend(pid, {WAIT_MS})) FROM pg_stat_activity "
            end += "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            assert connection.execute(text(end)).scalar_one()
        assert [ledger.people.all() for _ in range(5)] == [()] * 5

    def test_read_only_database_rejects_writes(self, ledger):
        with ledger.engine.connect() as connection:
            name = connection.execute(text("SELECT current_database()")).scalar_one()
            connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
            connection.commit()
        ledger.engine.dispose()
        with pytest.raises(LedgerRefused, match="read-only"):
            ledger.people.add("Ada", Role.OWNER)
        assert ledger.people.all() == ()

    def test_missing_table_raises_ledger_damaged(self, ledger):
        with ledger.engine.begin() as connection:
            connection.execute(text("DROP TABLE assignment"))
        with pytest.raises(LedgerDamaged, match="assignment"):
            ledger.queues.open_to(ledger.people.add("Ada", Role.OWNER))


def test_missing_server_raises_ledger_unavailable():
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        open_database("postgresql://ada:secret@127.0.0.1:1/ledger")
    with pytest.raises(StoreError) as caught:
        open_database("postgresql://ada:secret@127.0.0.1:1/ledger")
    assert "secret" not in str(caught.value)
