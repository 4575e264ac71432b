"""A file that someone asked for: it must be new, in a folder that is there."""

from __future__ import annotations

from pathlib import Path

from regrade.core import AlreadyStored, InputError


def check_new_file(path: Path) -> None:
    """Raise where a file is there already, or its folder is not."""
    if path.exists():
        raise AlreadyStored(f"{path} is there already: choose another name, or remove it first")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}")
