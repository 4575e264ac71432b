"""Missing files that other files show to have existed."""

from __future__ import annotations

from pathlib import Path

from regrade.core import DamagedFile
from regrade.store.damage import damaged


def filled_folders(base: Path, pattern: str = "*") -> list[Path]:
    """The folders that contain any files that are not hidden."""
    return [folder for folder in sorted(base.glob(pattern)) if is_filled(folder)]


def is_filled(folder: Path) -> bool:
    """Whether a path is a folder that contains any files that are not hidden."""
    return folder.is_dir() and any(folder.glob("[!.]*"))


def lost(path: Path, evidence: str = "other files of its folder are there") -> DamagedFile:
    """The error for a missing file, with the evidence that it existed."""
    return damaged(path, f"it is missing, and {evidence}")
