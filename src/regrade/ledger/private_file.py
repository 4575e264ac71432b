"""Restrict a ledger's file to its owner: it contains names, votes, password hashes and keys."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

from regrade.core import refusal

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""File mode 600: only the owner may read and write."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOG = logging.getLogger(__name__)


def keep_private(path: Path) -> None:
    """Make a SQLite file and its -wal and -shm files accessible to their owner only.

    SQLite creates -wal and -shm files with the mode of the main file, so call this before opening it.
    """
    target = path.resolve()
    _restrict([target.with_name(target.name + suffix) for suffix in ("", "-wal", "-shm")])


def _restrict(files: list[Path]) -> None:
    """Make files accessible to their owner only, and log one line if that changed anything."""
    wide = [file for file in files if file.is_file() and file.stat().st_mode & _OTHERS]
    if not wide:
        return
    mode = stat.S_IMODE(wide[0].stat().st_mode)
    try:
        for file in wide:
            file.chmod(PRIVATE)
    except OSError as error:
        _LOG.warning(
            "warning: %s is readable by other users (mode %03o), and its mode cannot be changed: %s; set it to 600",
            wide[0], mode, refusal(error),
        )  # fmt: skip
    else:
        _LOG.warning("%s was readable by other users (mode %03o): now only its owner can read it", wide[0], mode)
