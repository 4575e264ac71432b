"""Files that were lost while others that need them are there: told in one line, or refused where they are asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from regrade.core import DamagedFile
from regrade.store.damage import damaged

_LOG = logging.getLogger(__name__)


def filled_folders(base: Path, pattern: str = "*") -> list[Path]:
    """The folders that hold anything but hidden files."""
    return [folder for folder in sorted(base.glob(pattern)) if is_filled(folder)]


def is_filled(folder: Path) -> bool:
    """Whether a path is a folder that holds anything but hidden files."""
    return folder.is_dir() and any(folder.glob("[!.]*"))


def lost(path: Path, evidence: str = "other files of its folder are there") -> DamagedFile:
    """The error that names a missing file, and by what it is known that it was there."""
    return damaged(path, f"it is missing, and {evidence}")


class LostFiles:
    """Tells of lost files on standard error, of each once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._told: set[Path] = set()

    def tell(self, paths: Iterable[Path]) -> None:
        """Say in one line which of the files are missing, as far as that was not said yet."""
        new = [path for path in paths if path not in self._told]
        if new:
            self._told.update(new)
            places = ", ".join(path.relative_to(self._root).as_posix() for path in new)
            _LOG.warning(
                "note: missing, and left out: %s; `regrade verify` checks all files",
                places,
            )
