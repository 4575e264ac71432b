"""Missing files that other files need: logged as a warning, or an error when they are requested by name."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from regrade.core import DamagedFile
from regrade.store.damage import damaged

_LOG = logging.getLogger(__name__)


def filled_folders(base: Path, pattern: str = "*") -> list[Path]:
    """The folders that contain any files that are not hidden."""
    return [folder for folder in sorted(base.glob(pattern)) if is_filled(folder)]


def is_filled(folder: Path) -> bool:
    """Whether a path is a folder that contains any files that are not hidden."""
    return folder.is_dir() and any(folder.glob("[!.]*"))


def lost(path: Path, evidence: str = "other files of its folder are there") -> DamagedFile:
    """The error for a missing file, with the evidence that it existed."""
    return damaged(path, f"it is missing, and {evidence}")


class LostFiles:
    """Logs a warning for missing files, once per file."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reported: set[Path] = set()

    def warn(self, paths: Iterable[Path]) -> None:
        """Log one line with the missing files that were not reported yet."""
        new = [path for path in paths if path not in self._reported]
        if new:
            self._reported.update(new)
            places = ", ".join(path.relative_to(self._root).as_posix() for path in new)
            _LOG.warning(
                "note: missing, and left out: %s; `regrade verify` checks all files",
                places,
            )
