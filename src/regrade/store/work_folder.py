"""Folders for one piece of work: gone when it ends, and removed by the next command where its process was killed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regrade.store.locks import is_free, locked_at_once

_FOLDER = Path(".partial", ".work")


@contextmanager
def work_folder(root: Path) -> Iterator[Path]:
    """An empty folder in a workspace, which other processes leave alone as long as this one lives."""
    folder = root / _FOLDER / uuid.uuid4().hex[:12]
    try:
        with locked_at_once(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_empty(root)


def remove_abandoned_work(root: Path) -> None:
    """Remove the folders of processes that were killed."""
    base = root / _FOLDER
    for folder in base.iterdir() if base.is_dir() else ():
        if is_free(folder):
            shutil.rmtree(folder, ignore_errors=True)
    _remove_empty(root)


def _remove_empty(root: Path) -> None:
    for folder in (root / _FOLDER, (root / _FOLDER).parent):
        with suppress(OSError):  # it is not there, or others are at work in it
            folder.rmdir()
