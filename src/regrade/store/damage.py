"""The error for a damaged file."""

from __future__ import annotations

from pathlib import Path

from regrade.core import DamagedFile


def damaged(path: Path, why: str = "its content does not match its checksum") -> DamagedFile:
    """The error for a damaged file."""
    return DamagedFile(
        f"{path} is damaged ({why}): restore it from a copy, or remove it and store its content again; "
        "`regrade verify` checks all files"
    )


def unreadable(error: OSError | ValueError) -> str:
    """Why a file cannot be read, as text."""
    if isinstance(error, FileNotFoundError):
        return "it is missing"
    return getattr(error, "strerror", None) or str(error)
