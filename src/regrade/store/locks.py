"""Locks on folders, for one process at a time, and temporary folders that are locked while they are used."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regrade.core import StoreError
from regrade.store.file_errors import write_errors

_FOLDER = Path(".partial", ".work")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait for the lock of a folder, then hold it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_without_waiting(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if missing; raise if another process holds it."""
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        if not _try_lock(handle):
            raise StoreError(f"{folder} is locked by another process: wait until it ends")
        yield
    finally:
        os.close(handle)


def is_free(path: Path) -> bool:
    """Whether no process holds the lock of a file or folder; False if it does not exist."""
    try:
        with locked_if_free(path) as free:
            return free
    except FileNotFoundError:
        return False


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or folder if it is free; yields whether it is held."""
    handle = os.open(path, os.O_RDONLY)
    try:
        yield _try_lock(handle)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks have no locks
        return True
    return True


@contextmanager
def work_folder(root: Path) -> Iterator[Path]:
    """A temporary folder in a workspace, which is locked while this process uses it."""
    folder = root / _FOLDER / uuid.uuid4().hex[:12]
    try:
        with locked_without_waiting(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_empty(root)


def remove_abandoned_work(root: Path) -> None:
    """Remove the folders of killed processes."""
    base = root / _FOLDER
    for folder in base.iterdir() if base.is_dir() else ():
        if is_free(folder):
            shutil.rmtree(folder, ignore_errors=True)
    _remove_empty(root)


def _remove_empty(root: Path) -> None:
    for folder in (root / _FOLDER, (root / _FOLDER).parent):
        with suppress(OSError):  # missing, or not empty: other processes use it
            folder.rmdir()
