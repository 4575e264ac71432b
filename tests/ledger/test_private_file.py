"""The files of a ledger are readable by their owner only, from the moment they are created."""

import logging
import os
import stat
from pathlib import Path

import pytest

from regrade.core import LedgerRefused
from regrade.ledger import Ledger, Role


@pytest.fixture
def wide_umask():
    """New files are readable by everyone by default."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in sorted(folder.iterdir())}


@pytest.mark.usefixtures("wide_umask")
def test_open_creates_private_files(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.people.add("Ada", Role.OWNER)
    assert modes(tmp_path) == dict.fromkeys(("ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"), "0o600")
    ledger.engine.dispose()


@pytest.mark.usefixtures("wide_umask")
def test_open_through_a_dangling_link_creates_a_private_file(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "ledger.sqlite").symlink_to(tmp_path / "disk" / "real.sqlite")
    Ledger.open(tmp_path / "ledger.sqlite").engine.dispose()
    assert modes(tmp_path / "disk") == {"real.sqlite": "0o600"}


def test_open_restricts_an_existing_ledger_and_logs_it_once(tmp_path, caplog):
    path = tmp_path / "ledger.sqlite"
    first = Ledger.open(path)
    first.people.add("Ada", Role.OWNER)
    for file in tmp_path.iterdir():
        file.chmod(0o644)
    Ledger.open(path).engine.dispose()
    assert set(modes(tmp_path).values()) == {"0o600"}
    lines = [record.getMessage() for record in caplog.records if record.name == "regrade.ledger.ledger_file"]
    assert len(lines) == 1
    assert str(path) in lines[0] and "644" in lines[0] and "only its owner" in lines[0]
    Ledger.open(path).engine.dispose()
    first.engine.dispose()
    assert len([record for record in caplog.records if record.name == "regrade.ledger.ledger_file"]) == 1


def test_open_warns_if_it_cannot_restrict_the_file(tmp_path, caplog, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    Ledger.open(path).engine.dispose()
    path.chmod(0o640)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    Ledger.open(path).engine.dispose()
    (record,) = [record for record in caplog.records if record.name == "regrade.ledger.ledger_file"]
    assert record.levelno == logging.WARNING
    assert "is readable by other users (mode 640)" in record.getMessage()
    assert "permission is denied" in record.getMessage()


def test_open_raises_if_no_file_can_be_created(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("regrade.ledger.ledger_file.os.open", refuse)
    with pytest.raises(LedgerRefused, match="cannot be created: the disk is read-only"):
        Ledger.open(tmp_path / "ledger.sqlite")
