"""Renaming stored records: files that contain names are written anew, and all others are linked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regrade.store.checked_files import PLACE, read_parquet, read_stored_json, stored_json, write_parquet
from regrade.store.file_errors import write_errors
from regrade.store.layout import CHECKPOINTS, PREDICTIONS, SIGNATURES, STORED_OBJECTS, TABLES
from regrade.store.transaction import Transaction

Edit = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Returns the new metadata of a file from the present ones, which include its place for tables."""


def rename_record(change: Transaction, source: Path, final: Path, edit: Edit) -> None:
    """Stage a file or folder at another place, with other names in its metadata, and remove it at its own."""
    staged = change.new_folder() / final.name
    if source.is_dir():
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            inside = file.relative_to(source)
            with write_errors(change.root):
                (staged / inside).parent.mkdir(parents=True, exist_ok=True)
            _stage(change, file, staged / inside, final / inside, edit)
    else:
        _stage(change, source, staged, final, edit)
    change.place(staged, final)
    change.remove(source)


def rewrite_metadata(change: Transaction, path: Path, edit: Edit) -> None:
    """Stage a file at its place with other metadata."""
    staged = change.new_folder() / path.name
    _stage(change, path, staged, path, edit)
    change.replace(staged, path)


def _stage(change: Transaction, source: Path, staged: Path, final: Path, edit: Edit) -> None:
    """Write a file with its new metadata and place, or link it if it has none."""
    own, place = source.relative_to(change.root), final.relative_to(change.root).as_posix()
    if _matches(own, *TABLES, SIGNATURES):
        table, meta = read_parquet(source)
        edited = {**edit(dict(meta)), PLACE: place}
        change.write(staged, lambda file: write_parquet(table, edited, file))
    elif _matches(own, *STORED_OBJECTS, PREDICTIONS, CHECKPOINTS):
        content = stored_json(edit(dict(read_stored_json(source))), place=place)
        change.write(staged, lambda file: file.write(content))
    else:
        with write_errors(change.root):
            os.link(source, staged)


def _matches(path: Path, *patterns: str) -> bool:
    return any(len(path.parts) == pattern.count("/") + 1 and path.match(pattern) for pattern in patterns)
