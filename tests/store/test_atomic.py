"""Atomic writes of files and folders: complete or not at all, nothing left behind, private on request."""

import errno
import os
import stat
from pathlib import Path

import pytest
from running import snapshot

from benchmarks.kills import run_killed
from regrade.core import AlreadyStored, WriteError
from regrade.store import PRIVATE, atomic, replace_file, replace_folder, write_new_file

HOLDING = ("index.html",)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["files without names", "temporary names"])
def any_disk(request, monkeypatch):
    """A file system with files without names (O_TMPFILE), and one without."""
    if request.param == "temporary names":
        monkeypatch.delattr(os, "O_TMPFILE")


@pytest.mark.usefixtures("any_disk")
class TestReplaceFile:
    def test_replace_file_writes_new_and_replaces_old(self, tmp_path):
        for content in (b"first", b"second"):
            replace_file(tmp_path / "f", content)
            assert (tmp_path / "f").read_bytes() == content
        assert names_in(tmp_path) == ["f"]

    def test_replace_file_that_is_killed_leaves_the_old_file_or_the_new_one(self, tmp_path):
        (tmp_path / "f").write_bytes(b"old")
        at = 0
        while not run_killed(lambda: replace_file(tmp_path / "f", b"new"), at=at, below=tmp_path):
            assert (tmp_path / "f").read_bytes() == b"old"
            at += 1
        assert (tmp_path / "f").read_bytes() == b"new"
        assert at >= 2
        assert names_in(tmp_path) == ["f"]  # the last call has removed what the others left

    def test_replace_file_leaves_nothing_on_a_full_disk(self, tmp_path, monkeypatch):
        (tmp_path / "f").write_bytes(b"old")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(WriteError, match="the disk is full"):
            replace_file(tmp_path / "f", b"new")
        assert names_in(tmp_path) == ["f"] and (tmp_path / "f").read_bytes() == b"old"


@pytest.mark.usefixtures("any_disk")
class TestWriteNewFile:
    def test_write_new_file_is_private_on_request(self, tmp_path):
        write_new_file(tmp_path / "f", b"names", mode=PRIVATE)
        assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600

    def test_write_new_file_refuses_one_that_exists(self, tmp_path):
        write_new_file(tmp_path / "f", b"first")
        with pytest.raises(AlreadyStored, match="exists already"):
            write_new_file(tmp_path / "f", b"second")
        assert (tmp_path / "f").read_bytes() == b"first"

    def test_write_new_file_names_a_missing_folder(self, tmp_path):
        with pytest.raises(WriteError, match="No such file or directory"):
            write_new_file(tmp_path / "missing" / "f", b"")


def test_write_new_file_that_is_killed_leaves_nothing(tmp_path):
    at = 0
    while not run_killed(lambda: write_new_file(tmp_path / "f", b"new"), at=at, below=tmp_path):
        assert names_in(tmp_path) == []
        at += 1
    assert at >= 1


@pytest.fixture(params=["exchange", "two renames"])
def any_rename(request, monkeypatch):
    """A system that can exchange two folders in one step, and one that cannot."""
    if request.param == "two renames":
        monkeypatch.setattr(atomic, "_exchange", lambda *_: False)


def write_report(folder: Path, text: bytes) -> None:
    replace_folder(folder, {"index.html": text, "figures/a.svg": text}, force=True, holding=HOLDING)


@pytest.mark.usefixtures("any_rename")
def test_replace_folder_that_is_killed_loses_nothing(tmp_path):
    write_report(tmp_path / "report", b"old")
    old = snapshot(tmp_path)
    at = 0
    while not run_killed(lambda: write_report(tmp_path / "report", b"new"), at=at, below=tmp_path):
        at += 1
        assert (tmp_path / "report" / "index.html").is_file() or (tmp_path / ".report.old").is_dir()
    new = snapshot(tmp_path)
    assert new.keys() == old.keys() and new != old
    assert at > 5


def test_replace_folder_puts_back_what_a_killed_process_moved_away(tmp_path):
    write_report(tmp_path / "report", b"old")
    (tmp_path / "report").rename(tmp_path / ".report.old")
    with pytest.raises(AlreadyStored, match="--force"):
        replace_folder(tmp_path / "report", {"index.html": b"new"}, force=False, holding=HOLDING)
    assert (tmp_path / "report" / "index.html").read_bytes() == b"old"


def test_replace_folder_leaves_other_folders_alone(tmp_path):
    (tmp_path / "report").mkdir()
    with pytest.raises(AlreadyStored, match=r"it has no index\.html"):
        write_report(tmp_path / "report", b"new")
