"""Opening a ledger: created, migrated, or rejected if it is newer or cannot be reached."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from regrade.core import InputError, LedgerRefused, StoreError, VersionError
from regrade.ledger import Ledger, Role, database
from regrade.ledger.database import open_database, writing, writing_unsynced
from regrade.ledger.schema import metadata


def test_migrations_create_the_current_schema(ledger):
    with ledger.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_open_reads_what_was_written_before(place):
    first = Ledger.open(place)
    ada = first.people.add("Ada", Role.OWNER)
    first.engine.dispose()
    again = Ledger.open(place)
    assert again.people.all() == (ada,)
    again.engine.dispose()


def test_open_migrates_an_older_ledger(tmp_path, new_files):
    engine = open_database(downgraded(new_files.put(tmp_path / "ledger.sqlite")))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def downgraded(path):
    """Give a ledger in a file the schema before the newest one."""
    with closing(sqlite3.connect(path)) as client, client:
        client.execute("ALTER TABLE item DROP COLUMN needed")
        for table in ("overlap_change", "worker_link", "worker_event", "proposal", "proposal_link"):
            client.execute(f"DROP TABLE {table}")
        client.execute("UPDATE alembic_version SET version_num = '0006'")
    return path


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
@pytest.mark.parametrize("change", [downgraded, Path], ids=["older", "newest"])
def test_unchanged_does_not_modify_the_file(tmp_path, new_files, change, mode):
    path = change(new_files.put(tmp_path / "ledger.sqlite"))
    with closing(sqlite3.connect(path)) as client:
        client.execute(f"PRAGMA journal_mode={mode}")
    before, status = path.read_bytes(), path.stat()
    with Ledger.unchanged(path) as ledger:
        assert ledger.problems() == ()
        assert ledger.stored_identity()
    assert path.read_bytes() == before and path.stat().st_mtime_ns == status.st_mtime_ns
    assert path.stat().st_mode == status.st_mode and list(tmp_path.iterdir()) == [path]


def test_unchanged_checks_an_older_ledger(tmp_path, new_files):
    path = downgraded(new_files.put(tmp_path / "ledger.sqlite"))
    with closing(sqlite3.connect(path)) as client, client:
        client.execute("DROP TRIGGER vote_no_update")
    with Ledger.unchanged(path) as ledger:
        assert ledger.problems() == ("the trigger vote_no_update is missing",)


def test_unchanged_rejects_writes(place):
    Ledger.open(place).engine.dispose()
    with (
        Ledger.unchanged(place) as ledger,
        pytest.raises(LedgerRefused, match="read-only"),
    ):
        ledger.people.add("Ada", Role.OWNER)


def test_unchanged_rejects_an_older_ledger_in_postgres(postgres_database):
    place = postgres_database.renewed()
    engine = open_database(place)
    with engine.connect() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0006'"))
    with (
        pytest.raises(StoreError, match=r"older regrade.* is not checked: `regrade review list`"),
        Ledger.unchanged(place),
    ):
        pass
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0006"
    engine.dispose()


def test_open_rejects_a_newer_ledger(place):
    engine = open_database(place)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(VersionError, match="newer regrade"):
        open_database(place)


def test_open_rejects_invalid_places(tmp_path):
    with pytest.raises(StoreError, match="no folder"):
        open_database(tmp_path / "missing" / "ledger.sqlite")
    with pytest.raises(InputError, match="not in mysql"):
        open_database("mysql://host/name")
    (tmp_path / "text.sqlite").write_text("hello, this is no database at all")
    with pytest.raises(StoreError, match="cannot be opened"):
        open_database(tmp_path / "text.sqlite")


def test_errors_do_not_show_the_password():
    with pytest.raises(StoreError) as caught:
        open_database("postgresql://ada:secret@127.0.0.1:1/ledger?connect_timeout=1")
    assert "secret" not in str(caught.value)
    assert "cannot be opened" in str(caught.value)


def _sync_level(engine):
    with engine.connect() as connection:
        return connection.connection.driver_connection.execute("PRAGMA synchronous").fetchone()[0]


def test_only_unsynced_transactions_do_not_wait_for_the_disk(tmp_path, new_files):
    engine = open_database(new_files.put(tmp_path / "ledger.sqlite"))
    with engine.connect() as connection:  # the pool's only connection
        connection.connection.driver_connection.execute("PRAGMA synchronous=FULL")
    with writing_unsynced(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1
    assert _sync_level(engine) == 2
    with pytest.raises(ZeroDivisionError), writing_unsynced(engine) as connection:
        raise ZeroDivisionError
    assert _sync_level(engine) == 2
    with writing(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    engine.dispose()


@pytest.mark.parametrize(("max_idle", "pings"), [(3600.0, 0), (0.0, 3)])
def test_connections_are_tested_only_after_they_were_idle(postgres_database, monkeypatch, max_idle, pings):
    monkeypatch.setattr(database, "_MAX_IDLE", max_idle)
    ledger = Ledger.open(postgres_database.renewed())
    tested = []
    ping = ledger.engine.dialect.do_ping
    monkeypatch.setattr(ledger.engine.dialect, "do_ping", lambda connection: tested.append(1) or ping(connection))
    assert [ledger.people.all() for _ in range(3)] == [()] * 3
    assert len(tested) == pings
    ledger.engine.dispose()
