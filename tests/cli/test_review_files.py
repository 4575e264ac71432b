"""regrade review export, import, backup, restore and verify."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest
from failing_database import damage
from judging import item_of, people, queue_of, vote
from running import assert_one_line, run, run_well

import regrade


@pytest.fixture
def judged(pets):
    ledger = regrade.open(pets).ledger
    ada, bob = people(ledger, "Ada", "Bob")
    queue = queue_of(ledger, "novel", [("p0", "dog"), ("p1", "cat")], test_set="pets", labels="own", overlap=2)
    for person in (ada, bob):
        vote(ledger, queue, person, ("p0", "dog"), "wrong", reason="no\ndog", seconds=1.5)
    ledger.engine.dispose()
    return pets


def rows(workspace):
    ledger = regrade.open(workspace).ledger
    stored = ledger.rows()
    ledger.engine.dispose()
    return stored


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export_and_import_preserve_every_row(judged, tmp_path, suffix):
    file, copy = tmp_path / f"ledger.{suffix}", tmp_path / "copy"
    done = run_well("review", "export", file, "-w", judged)
    counts = "2 people, 1 queue, 2 items, 2 votes, 1 decision"
    assert done.err == f"{file}: {counts}\n"
    run_well("init", copy)
    assert run_well("review", "import", file, "-w", copy).err == f"{file}: {counts}; 2 new votes\n"
    assert rows(copy) == rows(judged)
    assert run_well("review", "import", file, "-w", copy).err == f"{file}: {counts}; 0 new votes\n"


def test_export_and_import_count_reports_of_unreadable_images(judged, tmp_path):
    ledger = regrade.open(judged).ledger
    (ada,) = people(ledger, "Ada")
    ledger.reports.add(item_of(ledger, ledger.queues.named("novel"), "p1", "cat"), ada, "gray")
    ledger.engine.dispose()
    file, copy = tmp_path / "ledger.json", tmp_path / "copy"
    assert "1 report of an unreadable image" in run_well("review", "export", file, "-w", judged).err
    run_well("init", copy)
    assert "1 report of an unreadable image" in run_well("review", "import", file, "-w", copy).err
    assert rows(copy) == rows(judged)


def test_export_and_import_reject_bad_files(judged, tmp_path):
    before = rows(judged)
    run_well("review", "export", tmp_path / "a.csv", "-w", judged)
    assert_one_line(run("review", "export", tmp_path / "a.csv", "-w", judged), "exists already")
    assert_one_line(run("review", "export", tmp_path / "a.xlsx", "-w", judged), ".csv, .json, .parquet")
    assert_one_line(run("review", "import", tmp_path / "b.csv", "-w", judged), "no file")
    text = (tmp_path / "a.csv").read_text()
    spoiled = tmp_path / "spoiled.csv"
    spoiled.write_text(text.replace('"wrong"', '"nonsense"', 1).replace("key ", "other "))
    assert_one_line(run("review", "import", spoiled, "-w", judged), str(spoiled), "row 6", "nonsense")
    assert rows(judged) == before


def test_empty_ledger_can_be_exported_and_imported(pets, tmp_path):
    assert "an empty ledger" in run_well("review", "export", tmp_path / "a.json", "-w", pets).err
    assert run_well("review", "import", tmp_path / "a.json", "-w", pets).err.endswith("0 new votes\n")


@pytest.mark.parametrize("file", ["ledger.csv", "ledger.json", "ledger.parquet"])
def test_export_and_backup_are_readable_by_their_owner_only(judged, tmp_path, file):
    before = os.umask(0)
    try:
        run_well("review", "export", tmp_path / file, "-w", judged)
        run_well("review", "backup", tmp_path / "copy.sqlite", "-w", judged)
    finally:
        os.umask(before)
    for path in (tmp_path / file, tmp_path / "copy.sqlite"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_value_of_a_wrong_type_is_named_by_verify_and_not_exported(judged, tmp_path):
    with closing(sqlite3.connect(judged / "ledger.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER vote_no_update")
        connection.execute("UPDATE vote SET answer = cast(answer AS blob)")
    for command in (("verify",), ("review", "verify")):
        ran = run(*command, "-w", judged)
        assert ran.code == 1 and "vote.answer: 2 values of a wrong type" in ran.out + ran.err
    assert_one_line(run("review", "export", tmp_path / "a.json", "-w", judged), "the ledger is damaged")
    assert not (tmp_path / "a.json").exists()


# Restoring a backup


def vote_more(workspace, name, *, count=80):
    """Add a queue with many votes."""
    ledger = regrade.open(workspace).ledger
    (person,) = people(ledger, name)
    pairs = [(f"image {number}", "dog") for number in range(count)]
    queue = queue_of(ledger, f"queue of {name}", pairs, test_set="pets", labels="own")
    for pair in pairs:
        vote(ledger, queue, person, pair, "correct")
    return ledger


def kill(ledger, workspace, tmp_path):
    """Leave a ledger's files as a killed server does: the newest votes are in the -wal file."""
    copies = tmp_path / "killed"
    copies.mkdir()
    for path in workspace.glob("ledger.sqlite*"):
        shutil.copy(path, copies)
    ledger.engine.dispose()
    for path in workspace.glob("ledger.sqlite*"):
        path.unlink()
    for path in copies.iterdir():
        shutil.copy(path, workspace)


@pytest.fixture
def crashed(judged, tmp_path):
    """A ledger whose server was killed, with a -wal file, and an older backup of it."""
    run_well("review", "backup", tmp_path / "backup.sqlite", "-w", judged)
    kill(vote_more(judged, "Cleo"), judged, tmp_path)
    assert (judged / "ledger.sqlite-wal").stat().st_size
    return judged


def test_restore_replaces_a_copy_damaged_by_an_old_wal(crashed, tmp_path):
    backup, ledger = tmp_path / "backup.sqlite", crashed / "ledger.sqlite"
    ledger.unlink()
    shutil.copy(backup, ledger)
    files = {path.name: path.read_bytes() for path in crashed.glob("ledger.sqlite*")}
    done = run_well("review", "restore", backup, "-w", crashed)
    assert "restored from" in done.err and "3 votes, comments, decisions" in done.err and "next steps" in done.err
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    (kept,) = crashed.glob("ledger.sqlite.replaced-*Z")
    assert str(kept) in done.err
    for name, content in files.items():
        assert kept.with_name(name.replace("ledger.sqlite", kept.name)).read_bytes() == content
    assert "novel" in run_well("review", "list", "-w", crashed).out
    assert "the ledger is valid" in run_well("review", "verify", "-w", crashed).err


def test_malformed_ledger_with_a_wal_suggests_restore(judged):
    damage(judged / "ledger.sqlite")
    (judged / "ledger.sqlite-wal").write_bytes(b"of another ledger")
    assert_one_line(run("review", "list", "-w", judged), "malformed", "-wal", "regrade review restore FILE")


def test_restore_accepts_a_replaced_ledger_with_its_wal(crashed, tmp_path):
    run_well("review", "restore", tmp_path / "backup.sqlite", "-w", crashed)
    (kept,) = crashed.glob("ledger.sqlite.replaced-*Z")
    assert "163 votes" in run_well("review", "restore", kept, "-w", crashed).err
    assert len(rows(crashed)) > 163


def test_restore_replaces_a_missing_ledger(crashed, tmp_path):
    (crashed / "ledger.sqlite").unlink()
    run_well("review", "restore", tmp_path / "backup.sqlite", "-w", crashed)
    assert "novel" in run_well("review", "list", "-w", crashed).out


HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM vote").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


def test_restore_rejects_a_ledger_that_another_process_has_open(judged, tmp_path):
    run_well("review", "backup", tmp_path / "backup.sqlite", "-w", judged)
    before = rows(judged)
    command = [sys.executable, "-c", HOLDING, judged / "ledger.sqlite"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"open\n"
        assert_one_line(run("review", "restore", tmp_path / "backup.sqlite", "-w", judged), "in use by another process")
        (judged / "ledger.sqlite").rename(judged / "moved")  # its -shm file at the old path is in use too
        assert_one_line(run("review", "restore", tmp_path / "backup.sqlite", "-w", judged), "in use by another process")
        (judged / "moved").rename(judged / "ledger.sqlite")
        holder.stdin.close()
    assert rows(judged) == before
    assert not list(judged.glob("*.replaced-*")) and not list(judged.glob(".ledger*"))


def test_restore_rejects_invalid_backups(judged, tmp_path):
    before = rows(judged)
    bad = tmp_path / "bad.sqlite"

    def refused(*parts):
        assert_one_line(run("review", "restore", bad, "-w", judged), *parts)
        bad.unlink(missing_ok=True)

    refused("no file")
    bad.write_text("this is no database" * 100)
    refused("bad.sqlite", "not a ledger")
    with closing(sqlite3.connect(bad)) as connection:
        connection.execute("CREATE TABLE vote (id)")
    refused("not a ledger (no table")
    run_well("review", "backup", bad, "-w", judged)
    damage(bad)
    refused("bad.sqlite", "damaged")
    run_well("review", "backup", bad, "-w", judged)
    with closing(sqlite3.connect(bad)) as connection:
        connection.execute("DROP TABLE skip")
    refused("no table skip")
    run_well("review", "backup", bad, "-w", judged)
    with closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    refused("bad.sqlite", "newer regrade")
    workspace = regrade.init(tmp_path / "another")
    workspace.review.back_up(bad)
    workspace.ledger.engine.dispose()
    refused("a copy of another ledger")
    assert_one_line(run("review", "restore", judged / "ledger.sqlite", "-w", judged), "the ledger itself")
    assert rows(judged) == before
    assert not list(judged.glob("*.replaced-*")) and not list(judged.glob(".ledger*"))


def test_restore_of_postgres_names_pg_restore(judged, tmp_path):
    run_well("review", "backup", tmp_path / "backup.sqlite", "-w", judged)
    config = judged / "regrade.toml"
    config.write_text(config.read_text().replace('"ledger.sqlite"', '"postgresql://nowhere/none"'))
    assert_one_line(run("review", "restore", tmp_path / "backup.sqlite", "-w", judged), "pg_restore")
