"""Bringing a workspace of an older layout up to date: its files get checksums, and its own images relative paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError, InputError, StoreError
from regrade.store.checked_json import checked_json
from regrade.store.checksums import Checksums
from regrade.store.config import CONFIG, FORMAT, stated_version
from regrade.store.layout import CHECKPOINTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES
from regrade.store.parquet import write_parquet
from regrade.store.prediction_folder import MANIFEST
from regrade.store.signature_folder import TABLE, THUMBNAILS
from regrade.store.transaction import transaction

_VERSION = re.compile(r"^version\s*=\s*\d+", re.MULTILINE)


def upgrade_workspace(root: Path) -> int:
    """Rewrite the files of a workspace of layout 1 in the present layout, all or none, and say how many."""
    if not (root / CONFIG).is_file():
        raise StoreError(f"{root} is not a workspace (no {CONFIG})")
    version = stated_version(root / CONFIG)
    if version != 1:
        raise InputError(f"{root} has layout {version}: only layout 1 can be upgraded, to {FORMAT}")
    with transaction(root) as change:
        rewritten = list(_rewritten(root))
        for path, write in rewritten:
            change.replace(change.write(change.new_folder() / path.name, write), path)
        text = _VERSION.sub(f"version = {FORMAT}", (root / CONFIG).read_text(encoding="utf-8"), count=1).encode()
        config = change.write(change.new_folder() / CONFIG, lambda file: file.write(text))
        change.replace(config, root / CONFIG)
    return len(rewritten)


def _rewritten(root: Path) -> Iterator[tuple[Path, Callable[[Any], object]]]:
    """Every file that changes, and what writes it anew."""
    for pattern in (*TABLES, SIGNATURES):
        for path in sorted(root.glob(pattern)):
            yield path, _table_writer(path, root)
    for pattern in OBJECTS:
        for path in sorted(root.glob(pattern)):
            yield path, _bytes_writer(checked_json(_json_object(path)))
    for pattern in (PREDICTIONS, CHECKPOINTS):
        for path in sorted(root.glob(pattern)):
            yield path, _bytes_writer(checked_json(_json_object(path) | {"files": _files_of(path.parent), "format": 2}))


def _table_writer(path: Path, root: Path) -> Callable[[Any], object]:
    try:
        table = pq.read_table(path, use_threads=False)
        meta = json.loads(table.schema.metadata[b"regrade"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
    if path.name == TABLE:
        meta["files"] = {THUMBNAILS: Checksums.of_file(path.parent / THUMBNAILS).as_json()}
    if path.parent == root / "pictures":
        meta["root"] = _inside(Path(meta["root"]), root.resolve())
    return lambda file: write_parquet(table, meta, file)


def _bytes_writer(content: bytes) -> Callable[[Any], object]:
    return lambda file: file.write(content)


def _inside(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _json_object(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def _files_of(folder: Path) -> dict[str, Any]:
    """The checksums of all files below a folder but its manifest."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST]
    return {path.relative_to(folder).as_posix(): Checksums.of_file(path).as_json() for path in paths}
