"""Errors for stored files that are damaged, missing or cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regrade.core import DamagedFile, WriteError, refusal

FIRST_MODEL = "regrade predict, or regrade import predictions"
"""The commands that add the first predictions on a test set."""


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


def filled_folders(base: Path, pattern: str = "*") -> list[Path]:
    """The folders that contain any files that are not hidden."""
    return [folder for folder in sorted(base.glob(pattern)) if is_filled(folder)]


def is_filled(folder: Path) -> bool:
    """Whether a path is a folder that contains any files that are not hidden."""
    return folder.is_dir() and any(folder.glob("[!.]*"))


def lost(path: Path, evidence: str = "other files of its folder are there") -> DamagedFile:
    """The error for a missing file, with the evidence that it existed."""
    return damaged(path, f"it is missing, and {evidence}")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` on writing to a path into a `WriteError`."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {path}: {refusal(error)}; nothing was left half-written") from error
