"""The ledger to a file and back, by the command line."""

import os
import stat

import pytest
from judging import people, queue_of, vote
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
    found = ledger.rows()
    ledger.engine.dispose()
    return found


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_there_and_back(judged, tmp_path, suffix):
    file, other = tmp_path / f"ledger.{suffix}", tmp_path / "other"
    done = run_well("review", "export", file, "-w", judged)
    told = "2 people, 1 queue, 2 items, 2 votes, 1 decision"
    assert done.err == f"{file}: {told}\n"
    run_well("init", other)
    assert run_well("review", "import", file, "-w", other).err == f"{file}: {told}; 2 new votes\n"
    assert rows(other) == rows(judged)
    assert run_well("review", "import", file, "-w", other).err == f"{file}: {told}; 0 new votes\n"


def test_what_cannot_be(judged, tmp_path):
    before = rows(judged)
    run_well("review", "export", tmp_path / "a.csv", "-w", judged)
    assert_one_line(run("review", "export", tmp_path / "a.csv", "-w", judged), "there already")
    assert_one_line(run("review", "export", tmp_path / "a.xlsx", "-w", judged), ".csv, .json, .parquet")
    assert_one_line(run("review", "import", tmp_path / "b.csv", "-w", judged), "no file")
    text = (tmp_path / "a.csv").read_text()
    spoiled = tmp_path / "spoiled.csv"
    spoiled.write_text(text.replace('"wrong"', '"nonsense"', 1).replace("key ", "other "))
    assert_one_line(run("review", "import", spoiled, "-w", judged), str(spoiled), "row 6", "nonsense")
    assert rows(judged) == before


def test_an_empty_ledger(pets, tmp_path):
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
