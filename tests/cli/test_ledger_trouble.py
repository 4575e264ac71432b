"""Read-only, full or failing disks, and damaged or locked ledgers: one error line for every command."""

import json
import os
import shlex
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from failing_database import damage, full, raising, read_only
from judging import people
from running import Ran, assert_one_line, run
from skipping import skip

import regrade
from regrade.ledger import database

READING = [("team", "list"), ("review", "list")]
WRITING = [("team", "add", "Bob"), ("team", "link"), ("serve", "--accounts")]


@pytest.fixture
def workspace(pets):
    """A workspace whose ledger has an owner."""
    ledger = regrade.open(pets).ledger
    people(ledger, "Ada")
    ledger.engine.dispose()
    return pets


@pytest.mark.parametrize("command", WRITING, ids=" ".join)
class TestWriting:
    def test_read_only(self, workspace, command):
        with read_only():
            assert_one_line(run(*command, "-w", workspace), "ledger.sqlite cannot be written", "read-only")

    def test_locked(self, workspace, command, monkeypatch):
        monkeypatch.setattr(database, "_WAIT", 0.05)
        with locked(workspace):
            assert_one_line(run(*command, "-w", workspace), "ledger.sqlite is locked")


@pytest.mark.parametrize("command", READING, ids=" ".join)
class TestReading:
    def test_read_only(self, workspace, command):
        with read_only():
            assert run(*command, "-w", workspace).code == 0

    def test_locked(self, workspace, command, monkeypatch):
        monkeypatch.setattr(database, "_WAIT", 0.05)
        with locked(workspace):
            assert run(*command, "-w", workspace).code == 0


@contextmanager
def locked(workspace):
    """A context in which another process holds a write lock on the ledger."""
    with closing(sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("command", [*READING, *WRITING], ids=" ".join)
class TestOneLine:
    def test_io_error(self, workspace, command):
        with raising("disk I/O error"):
            assert_one_line(run(*command, "-w", workspace), "ledger.sqlite", "disk I/O error")

    def test_not_a_database(self, workspace, command):
        (workspace / "ledger.sqlite").write_text("hello, this is no database at all" * 100)
        assert_one_line(run(*command, "-w", workspace), "ledger.sqlite", "file is not a database", "backup")

    def test_malformed(self, workspace, command):
        damage(workspace / "ledger.sqlite")
        assert_one_line(run(*command, "-w", workspace), "ledger.sqlite", "malformed", "backup")

    def test_missing_folder(self, workspace, command):
        settings = workspace / "regrade.toml"
        settings.write_text(settings.read_text().replace('"ledger.sqlite"', '"gone/ledger.sqlite"'))
        assert_one_line(run(*command, "-w", workspace), "no folder")


@pytest.mark.parametrize("command", [("review", "import"), ("team", "add", "B" * 80)], ids=" ".join)
def test_full_disk_is_one_line_and_leaves_nothing(workspace, tmp_path, command):
    source = tmp_path / "people.csv"
    names = "".join(f"person,{str(number) * 10},reviewer,2026-01-31T12:00:00Z\n" for number in range(1000, 3000))
    source.write_text("kind,person,role,at\n" + names)
    extra = (source,) if command[0] == "review" else ()
    with full():
        outcomes = [run(*command, *extra, "-w", workspace)]
        while outcomes[-1].code == 0:  # until the free space of the last page is used up
            outcomes.append(run("team", "add", f"{len(outcomes):080}", "-w", workspace))
    assert_one_line(outcomes[-1], "cannot be written", "the disk is full")
    assert len(regrade.open(workspace).ledger.people.all()) == len(outcomes)


def test_readable_ledger_is_made_private_with_a_note(workspace, run_warm):
    (workspace / "ledger.sqlite").chmod(0o644)
    ran = run_warm("team", "list", "-w", workspace)
    assert ran.code == 0
    assert ran.err.count("\n") == 1 and "now only its owner" in ran.err
    assert stat.S_IMODE((workspace / "ledger.sqlite").stat().st_mode) == 0o600
    assert run_warm("team", "list", "-w", workspace).err == ""


RUN_ALL = """
import dataclasses, json, sys
from running import run
commands = json.loads(sys.argv[1])
print(json.dumps([dataclasses.asdict(run(*command)) for command in commands]))
"""


def test_read_only_mount_is_one_line(workspace, tmp_path):
    """With a real read-only mount, if this machine allows it; one process runs all commands."""
    target = tmp_path / "mounted"
    target.mkdir()
    bind = f"mount --bind {workspace} {target} && mount -o remount,ro,bind {target}"
    commands = json.dumps([(*command, "-w", str(target)) for command in [*READING, *WRITING[:2]]])
    shell = f"{bind} && exec {shlex.join([sys.executable, '-c', RUN_ALL, commands])}"
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", shell],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        skip("nothing can be mounted here")
    assert (done.returncode, done.stderr) == (0, "")
    for command, result in zip([*READING, *WRITING[:2]], json.loads(done.stdout), strict=True):
        if command[1] == "list":  # nothing is written
            assert (result["code"], result["err"]) == (0, ""), command
        else:
            assert_one_line(Ran(**result), "the ledger")
    assert not list(Path(workspace).glob("*-journal"))
