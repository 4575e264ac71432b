"""Atomic changes to a workspace: all or nothing, even if the process is killed, by one writer at a time."""

import errno
import shutil
import threading
from pathlib import Path

import pytest
from running import snapshot

from benchmarks.kills import run_killed
from regrade.core import AlreadyStored, FormatError, StoreError, WriteError
from regrade.store import transaction as module
from regrade.store.transaction import recover, transaction


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with files and folders that a change replaces, removes and moves."""
    root = tmp_path / "W"
    (root / "a" / "folder").mkdir(parents=True)
    (root / "a" / "folder" / "content").write_text("old")
    (root / "a" / "file").write_text("old")
    (root / "removed").write_text("old")
    (root / "from" / "folder").mkdir(parents=True)
    (root / "from" / "folder" / "content").write_text("moved")
    (root / "from" / "file").write_text("moved")
    return root


def change_everything(root: Path) -> None:
    with transaction(root) as change:
        folder = change.new_folder()
        change.write(folder / "content", lambda file: file.write(b"new"))
        change.replace(folder, root / "a" / "folder")
        change.replace(change.write(change.new_folder() / "file", lambda file: file.write(b"new")), root / "a" / "file")
        change.write_at(root / "b" / "c" / "added", lambda file: file.write(b"new"))
        change.remove(root / "removed")
        change.move(root / "from" / "folder", root / "to" / "folder")
        change.move(root / "from" / "file", root / "a" / "moved")


def test_transaction_shows_nothing_before_its_end(root):
    before = snapshot(root)
    with transaction(root) as change:
        change.write_at(root / "added", lambda file: file.write(b"new"))
        assert {name: text for name, text in snapshot(root).items() if not name.startswith(".")} == before
    assert (root / "added").read_bytes() == b"new"
    assert not (root / ".staging").exists()


def test_transaction_leaves_nothing_after_an_error(root):
    before = snapshot(root)
    with pytest.raises(ZeroDivisionError), transaction(root) as change:
        change.write_at(root / "added", lambda file: file.write(b"new"))
        change.remove(root / "removed")
        _ = 1 / 0
    assert snapshot(root) == before


def test_place_refuses_what_exists_or_is_staged(root):
    with transaction(root) as change:
        with pytest.raises(AlreadyStored):
            change.write_at(root / "a" / "file", lambda file: file.write(b"new"))
        change.write_at(root / "added", lambda file: file.write(b"new"))
        with pytest.raises(AlreadyStored):
            change.write_at(root / "added", lambda file: file.write(b"other"))
    assert (root / "added").read_bytes() == b"new"


def test_move_takes_files_and_folders_to_their_new_places(root):
    change_everything(root)
    assert (root / "to" / "folder" / "content").read_text() == (root / "a" / "moved").read_text() == "moved"
    assert not (root / "from").exists()  # nothing is left in it


def test_move_refuses_what_is_missing_or_taken(root):
    with transaction(root) as change:
        with pytest.raises(StoreError, match="does not exist"):
            change.move(root / "missing", root / "to")
        with pytest.raises(AlreadyStored):
            change.move(root / "from", root / "removed")


@pytest.mark.parametrize("place", ["from/folder/content", "from/folder", "from"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("removed", [True, False])
def test_move_refuses_another_change_of_its_source(root, place, first, removed):
    def change_source() -> None:
        if removed:
            change.remove(root / place)
        else:
            change.replace_at(root / place, lambda file: file.write(b"new"))

    def attempt() -> None:
        if first:
            change_source()
        change.move(root / "from" / "folder", root / "to")
        if not first:
            change_source()

    before = snapshot(root)
    if removed and not first and place == "from":  # what is around it may be removed afterwards
        with transaction(root) as change:
            attempt()
        assert (root / "to" / "content").read_text() == "moved" and not (root / "from").exists()
        return
    with pytest.raises(StoreError, match="both changed and moved"), transaction(root) as change:
        attempt()
    assert snapshot(root) == before


def test_inner_transaction_is_part_of_the_outer_one(root):
    before = snapshot(root)
    with pytest.raises(ZeroDivisionError), transaction(root) as outer:
        with transaction(root) as inner:
            assert inner is outer
            inner.remove(root / "removed")
        _ = 1 / 0
    assert snapshot(root) == before


def test_inner_error_takes_back_the_inner_part_only(root):
    with transaction(root) as outer:
        outer.write_at(root / "first", lambda file: file.write(b"1"))
        with pytest.raises(ZeroDivisionError), transaction(root) as inner:
            inner.remove(root / "removed")
            _ = 1 / 0
    assert (root / "first").exists() and (root / "removed").exists()


def test_killed_transaction_leaves_the_old_state_or_the_new_one(root, tmp_path):
    old = snapshot(root)
    change_everything(finished := Path(shutil.copytree(root, tmp_path / "finished")))
    new = snapshot(finished)
    outcomes, at = [], 0
    while True:
        copy = Path(shutil.copytree(root, tmp_path / str(at)))
        through = run_killed(lambda copy=copy: change_everything(copy), at=at, below=copy)
        recover(copy)
        state = snapshot(copy)
        assert state in (old, new), at
        outcomes.append(state == new)
        if through:
            break
        at += 1
    assert at > 15
    assert outcomes == sorted(outcomes)  # from one moment on it is the new one
    assert not outcomes[0] and outcomes[-1]


def test_recovery_that_is_killed_goes_on_with_the_next(root, tmp_path):
    change_everything(finished := Path(shutil.copytree(root, tmp_path / "finished")))
    new = snapshot(finished)
    at = 0
    while (copy := Path(shutil.copytree(root, tmp_path / f"first-{at}"))) and not (
        run_killed(lambda: change_everything(copy), at=at, below=copy) or list(copy.glob(".staging/*/journal.json"))
    ):
        at += 1
    for again in range(100):
        half_made = Path(shutil.copytree(copy, tmp_path / f"again-{again}"))
        through = run_killed(lambda half_made=half_made: recover(half_made), at=again, below=half_made)
        recover(half_made)
        assert snapshot(half_made) == new
        if through:
            break
    assert again > 3


@pytest.mark.parametrize("refused", ["removed", "to/folder", "a/moved"])
def test_refused_step_takes_back_the_steps_before_it(root, monkeypatch, refused):
    before = snapshot(root)
    make = module._make

    def refuse_one(root, step):
        if step.final == refused:
            raise OSError(errno.ENOSPC, "No space left on device")
        make(root, step)

    monkeypatch.setattr(module, "_make", refuse_one)
    with pytest.raises(WriteError, match="the disk is full"):
        change_everything(root)
    assert snapshot(root) == before


def test_damaged_journal_is_named(root):
    (root / ".staging" / "x").mkdir(parents=True)
    (root / ".staging" / "x" / "journal.json").write_text("[{")
    with pytest.raises(FormatError, match=r"journal\.json is damaged"):
        recover(root)


def test_recovery_leaves_a_live_transaction_alone(root):
    with transaction(root) as change:
        change.write_at(root / "added", lambda file: file.write(b"new"))
        thread = threading.Thread(target=recover, args=(root,))
        thread.start()
        thread.join()
    assert (root / "added").exists()


def test_second_writer_waits_and_sees_what_the_first_stored(root):
    entered, seen = threading.Event(), []

    def second() -> None:
        entered.set()
        with transaction(root):
            seen.append((root / "added").exists())

    with transaction(root) as change:
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        change.write_at(root / "added", lambda file: file.write(b"new"))
    thread.join()
    assert seen == [True]
