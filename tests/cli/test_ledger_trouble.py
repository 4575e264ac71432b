"""A disk that is read-only, full or failing, a ledger that is damaged or locked: one line, whatever the command."""

import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest
from failing_database import damage, full, raising, read_only
from judging import people
from running import EXECUTABLE, assert_one_line, run, run_process
from skipping import skip

import regrade
from regrade.ledger import database

COMMANDS = [("team", "list"), ("team", "add", "Bob"), ("team", "link"), ("review", "list"), ("serve", "--accounts")]


@pytest.fixture
def workspace(pets):
    """A workspace whose ledger has an owner."""
    ledger = regrade.open(pets).ledger
    people(ledger, "Ada")
    ledger.engine.dispose()
    return pets


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
class TestOneLine:
    def test_read_only(self, workspace, command):
        with read_only():
            assert_one_line(run(*command, "-w", workspace), "ledger.sqlite cannot be written", "read-only")

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

    def test_locked(self, workspace, command, monkeypatch):
        monkeypatch.setattr(database, "_WAIT", 0.05)
        writer = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert_one_line(run(*command, "-w", workspace), "ledger.sqlite is locked")
        writer.close()


@pytest.mark.parametrize("command", [("review", "import"), ("team", "add", "B" * 80)], ids=" ".join)
def test_a_full_disk_is_one_line_and_leaves_nothing(workspace, tmp_path, command):
    source = tmp_path / "people.csv"
    names = "".join(f"person,{str(number) * 10},reviewer,2026-01-31T12:00:00Z\n" for number in range(1000, 3000))
    source.write_text("kind,person,role,at\n" + names)
    extra = (source,) if command[0] == "review" else ()
    with full():
        outcomes = [run(*command, *extra, "-w", workspace)]
        while outcomes[-1].code == 0:  # until the free space of the last page is used up
            outcomes.append(run("team", "add", f"{len(outcomes):080}", "-w", workspace))
    assert_one_line(outcomes[-1], "cannot be written", "the disk is full")
    assert len(regrade.open(workspace).ledger.people()) == len(outcomes)


def test_an_open_ledger_is_made_private_with_one_line(workspace):
    (workspace / "ledger.sqlite").chmod(0o644)
    ran = run_process("team", "list", "-w", workspace)
    assert ran.code == 0
    assert ran.err.count("\n") == 1 and "now only its owner" in ran.err
    assert stat.S_IMODE((workspace / "ledger.sqlite").stat().st_mode) == 0o600
    assert run_process("team", "list", "-w", workspace).err == ""


@pytest.mark.parametrize("command", COMMANDS[:4], ids=" ".join)
def test_a_read_only_mount_is_one_line(workspace, tmp_path, command):
    """For real, where this machine lets a test mount something."""
    target = tmp_path / "mounted"
    target.mkdir()
    bind = f"mount --bind {workspace} {target} && mount -o remount,ro,bind {target}"
    shell = f"{bind} && exec {EXECUTABLE} {' '.join(command)} -w {target}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", shell], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr.split("error:")[0]:
        skip("nothing can be mounted here")
    if command[1] == "list":  # nothing is written
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("error: the ledger") and done.stderr.count("\n") == 1
    assert not list(Path(workspace).glob("*-journal"))
