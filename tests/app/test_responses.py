"""Server errors: clear responses with the right status, few log lines, and recovery without a restart."""

import logging
import sqlite3

import pytest
from failing_database import full, raising, read_only
from fastapi.testclient import TestClient
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from regrade.app import create_app
from regrade.app.responses import ErrorLog
from regrade.ledger import Ledger, database

VOTE = {"item": 1, "key": "12345678", "answer": "correct"}


@pytest.fixture
def lines(caplog):
    """The first lines of the app's log records."""
    return lambda: [record.getMessage() for record in caplog.records if record.name == "regrade.app"]


@pytest.fixture
def rita(visitor, app, judge_queue):  # noqa: ARG001
    """A client whose requests need new connections, so that database errors show."""
    client = visitor("Rita")
    app.state.site.ledger.engine.dispose()
    return client


class TestDatabase:
    @pytest.mark.parametrize("message", ["disk I/O error", "database is locked", "unable to open database file"])
    def test_unavailable_is_503_with_retry_after(self, rita, lines, judge_queue, message):
        with raising(message):
            api, page = rita.get(f"/api/queues/{judge_queue.id}/next"), rita.get("/")
        assert (api.status_code, page.status_code) == (503, 503)
        assert api.headers["retry-after"] == page.headers["retry-after"] == "5"
        assert api.json() == {"error": "the database is not available at the moment: try again in a few seconds"}
        assert "not available at the moment" in page.text and "ledger.sqlite" not in page.text
        assert len(lines()) == 1 and message in lines()[0]
        assert rita.get("/").status_code == 200

    def test_read_only_is_507_and_pages_still_open(self, rita, lines, judge_queue):
        with read_only():
            refused = rita.write(f"/api/queues/{judge_queue.id}/votes", **VOTE)
            assert (refused.status_code, rita.get("/guide").status_code) == (507, 200)
        assert refused.json()["error"].startswith("the server's disk is full or read-only and nothing was saved")
        assert len(lines()) == 1 and lines()[0].startswith("database not writable: the ledger ")

    def test_full_disk_is_507_and_later_votes_count(self, rita, app, workspace, lines, judge_queue):
        def vote(item):
            form = {"item": item, "key": f"vote-{item:04}", "answer": "problematic"}
            return rita.write(f"/api/queues/{judge_queue.id}/votes", **form, reason="x" * 1000).status_code

        with full():
            codes = [vote(1)]
            while codes[-1] == 200:  # until the last page is full
                codes.append(vote(len(codes) + 1))
        assert codes[-1] == 507
        assert len(lines()) == 1 and "the disk is full" in lines()[0]
        app.state.site.ledger.engine.dispose()
        assert vote(len(codes)) == 200
        assert workspace.ledger.queues.progress(judge_queue).by_person == {"Rita": len(codes)}

    @pytest.mark.parametrize("message", ["file is not a database", "database disk image is malformed"])
    def test_damage_is_500(self, rita, lines, message):
        with raising(message, sqlite3.DatabaseError):
            answers = [rita.get("/"), rita.get("/api/classes/digits")]
        assert [answer.status_code for answer in answers] == [500, 500]
        assert answers[1].json() == {"error": "the server's database is damaged: tell the person who runs this server"}
        assert len(lines()) == 1 and message in lines()[0]

    def test_lock_by_another_process_is_503_for_writes_only(self, workspace, visitor, judge_queue, monkeypatch):
        monkeypatch.setattr(database, "_WAIT", 0.05)
        app = create_app(workspace, local=False)
        monkeypatch.setattr(app.state.site, "ledger", Ledger.open(workspace.store.root / "ledger.sqlite"))
        client, rita = TestClient(app), visitor("Rita")
        client.cookies = rita.cookies
        writer = sqlite3.connect(workspace.store.root / "ledger.sqlite", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        address = f"/api/queues/{judge_queue.id}/votes"
        refused = client.post(address, json=VOTE, headers={"X-Regrade-Token": rita.token})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert client.get("/guide").status_code == 200
        writer.execute("ROLLBACK")
        writer.close()
        assert client.post(address, json=VOTE, headers={"X-Regrade-Token": rita.token}).status_code == 200
        app.state.site.ledger.engine.dispose()

    def test_no_free_connection_is_503(self, rita, app, monkeypatch):
        def wait(*_):
            raise NoFreeConnection("QueuePool limit reached")

        monkeypatch.setattr(app.state.site.ledger.queues, "open_to", wait)
        assert rita.get("/").status_code == 503


class TestUnexpected:
    def test_unexpected_error_is_500_and_logged_with_one_traceback(self, rita, app, caplog, judge_queue, monkeypatch):
        def fail(*_):
            raise ZeroDivisionError("a secret detail")

        monkeypatch.setattr(app.state.site.ledger.queues, "for_person", fail)
        answers = [rita.get(f"/api/queues/{judge_queue.id}/next") for _ in range(20)]
        assert {answer.status_code for answer in answers} == {500}
        assert answers[0].json() == {"error": "an unexpected error occurred on the server: see its log"}
        page = rita.get(f"/judge/{judge_queue.id}")
        assert page.status_code == 500
        assert "an unexpected error" in page.text and "secret" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        records = [record for record in caplog.records if record.name == "regrade.app"]
        assert len(records) == 1
        assert records[0].exc_info is not None and "unexpected ZeroDivisionError at " in records[0].getMessage()

    def test_second_kind_of_error_is_logged_separately(self, rita, app, lines, monkeypatch):
        def fail(*_):
            raise ZeroDivisionError

        def fail_otherwise(*_):
            raise KeyError

        for failing in (fail, fail_otherwise, fail):
            monkeypatch.setattr(app.state.site.ledger.queues, "open_to", failing)
            rita.get("/")
        assert [line.split(" at ")[0] for line in lines()] == ["unexpected ZeroDivisionError", "unexpected KeyError"]


class TestErrorLog:
    @pytest.fixture
    def minutes(self):
        """The scheduled functions, in order."""
        return []

    @pytest.fixture
    def log(self, minutes):
        return ErrorLog(lambda _, action: minutes.append(action))

    def record(self, log, times):
        for number in range(times):
            log.record("database not available", f"reason {number}")

    def test_record_logs_the_first_event_and_counts_the_rest_per_minute(self, log, minutes, lines):
        self.record(log, 313)
        assert lines() == ["database not available: reason 0"]
        minutes.pop()()
        assert lines()[1:] == ["database not available: 312 requests refused in the last minute"]
        self.record(log, 1)
        minutes.pop()()
        assert lines()[2:] == ["database not available: 1 request refused in the last minute"]

    def test_record_logs_at_once_again_after_a_quiet_minute(self, log, minutes, lines):
        self.record(log, 1)
        minutes.pop()()
        assert minutes == [] and len(lines()) == 1
        self.record(log, 1)
        assert len(lines()) == 2 and len(minutes) == 1

    def test_record_counts_kinds_of_events_separately(self, log, lines):
        for event in ("first", "second", "first"):
            log.record(event, "detail")
        assert lines() == ["first: detail", "second: detail"]

    def test_default_timer_does_not_delay_the_exit(self):
        import threading

        ErrorLog().record("event", "detail")
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
        assert timers and all(timer.daemon for timer in timers)
        for timer in timers:
            timer.cancel()


def test_errors_are_logged_at_a_level_that_a_server_shows(rita, caplog):
    with raising("disk I/O error"):
        rita.get("/")
    assert [record.levelno for record in caplog.records if record.name == "regrade.app"] == [logging.ERROR]
