"""Locks on folders, for one process at a time; the lock of a killed process is released."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regrade.core import StoreError
from regrade.store.error_contexts import write_errors


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
