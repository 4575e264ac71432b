"""A ledger's file is for its owner alone: it holds people's names, answers, password hashes and keys."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

from regrade.core import refusal

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""Read and write for the owner, nothing for anyone else."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOG = logging.getLogger(__name__)


def keep_private(path: Path) -> None:
    """Take a SQLite file, and what SQLite keeps beside it, from everyone but its owner.

    SQLite gives the -wal and -shm files the mode of the main file, so this comes before it opens the file.
    """
    target = path.resolve()
    _tighten([target.with_name(target.name + suffix) for suffix in ("", "-wal", "-shm")])


def _tighten(files: list[Path]) -> None:
    """Take files from everyone but their owner, and say so in one line."""
    wide = [file for file in files if file.is_file() and file.stat().st_mode & _OTHERS]
    if not wide:
        return
    mode = stat.S_IMODE(wide[0].stat().st_mode)
    try:
        for file in wide:
            file.chmod(PRIVATE)
    except OSError as error:
        _LOG.warning(
            "warning: %s can be read by other users (mode %03o), and that cannot be changed: %s; make it 600",
            wide[0], mode, refusal(error),
        )  # fmt: skip
    else:
        _LOG.warning("%s could be read by other users (mode %03o): now only its owner can", wide[0], mode)
