"""Check of the path of an output file."""

from __future__ import annotations

from pathlib import Path

from regrade.core import AlreadyStored, InputError


def check_new_file(path: Path) -> None:
    """Raise if a file exists already, or its folder does not."""
    if path.exists():
        raise AlreadyStored(f"{path} exists already: choose another name, or remove it first")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}")
