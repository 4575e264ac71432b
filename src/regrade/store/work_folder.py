"""Temporary folders in a workspace: removed at the end, or by the next command if the process was killed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regrade.store.locks import is_free, locked_without_waiting

_FOLDER = Path(".partial", ".work")


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
