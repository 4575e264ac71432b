"""Bringing a workspace of an older layout up to date: its files state their place and get checksums."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError, InputError, StoreError
from regrade.store.checked_json import stored_json
from regrade.store.checksums import Checksums
from regrade.store.config import CONFIG, FORMAT, stated_version
from regrade.store.damage import damaged
from regrade.store.layout import (
    CHECKPOINTS,
    FRAMES,
    PREDICTIONS,
    SIGNATURES,
    STORED_OBJECTS,
    TABLES,
    folder_of_checkpoints,
    folder_of_predictions,
    folder_of_review,
    place_of_class_map,
    place_of_class_space,
    place_of_images,
    place_of_labels,
    place_of_mistakes,
    place_of_slices,
    place_of_test_set,
)
from regrade.store.metadata import PLACE
from regrade.store.parquet import write_parquet
from regrade.store.prediction_folder import MANIFEST
from regrade.store.review_files import DRAWN, FRAME, VERDICT_FILES, verdict_file_problems
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
    for pattern in ("ledger.json", *STORED_OBJECTS):
        for path in sorted(root.glob(pattern)):
            if path.name != DRAWN:
                yield path, _object_writer(path, root, _json_object(path))
    for path in sorted(root.glob(FRAMES)):
        yield path.with_name(DRAWN), _drawn_writer(path, root)
    for pattern in (PREDICTIONS, CHECKPOINTS):
        for path in sorted(root.glob(pattern)):
            content = _json_object(path) | {"files": _files_of(path.parent), "format": 2}
            yield path, _object_writer(path, root, content)


def _table_writer(path: Path, root: Path) -> Callable[[Any], object]:
    table, meta = _table(path)
    meta[PLACE] = _place(path, root, meta)
    if path.match(VERDICT_FILES):
        meta["frame"] = _frame_digest(path)
    if path.name == TABLE:
        meta["files"] = {THUMBNAILS: Checksums.of_file(path.parent / THUMBNAILS).as_json()}
    if path.parent == root / "images":
        meta["root"] = _inside(Path(meta["root"]), root.resolve())
    return lambda file: write_parquet(table, meta, file)


def _table(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    try:
        table = pq.read_table(path, use_threads=False)
        return table, json.loads(table.schema.metadata[b"regrade"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def _frame_digest(path: Path) -> str:
    """The digest of the frame of the review that a file belongs to."""
    return str(_table(path.with_name(FRAME))[1]["digest"])


def _drawn_writer(frame: Path, root: Path) -> Callable[[Any], object]:
    """Layout 1 has no such file before the first draw, and it counts no files of verdicts."""
    path = frame.with_name(DRAWN)
    verdict_files = list(frame.parent.glob(VERDICT_FILES))
    for missing, trouble in verdict_file_problems(frame.parent, {"verdict_files": len(verdict_files)}):
        raise damaged(missing, trouble)
    if verdict_files and not path.is_file():
        raise damaged(path, "it is missing")
    drawn = _json_object(path)["drawn"] if path.is_file() else 0
    content = {"drawn": drawn, "verdict_files": len(verdict_files), "frame": _frame_digest(path)}
    return _object_writer(path, root, content)


def _object_writer(path: Path, root: Path, content: dict[str, Any]) -> Callable[[Any], object]:
    stored = stored_json(content, place=_place(path, root, content))
    return lambda file: file.write(stored)


def _place(path: Path, root: Path, stated: dict[str, Any]) -> str:
    """Where a file belongs by the names that it states, or where it lies if it states none.

    A file that was renamed or swapped before the upgrade is thereby refused after it.
    """
    place = path.relative_to(root)
    place_by_names = _PLACES.get(place.parts[0])
    if place_by_names is None or path.name == DRAWN or path.match(VERDICT_FILES):
        return place.as_posix()
    try:
        return place_by_names(stated)
    except (KeyError, TypeError) as error:
        raise FormatError(f"{path} cannot be read: {error} is missing") from None


_PLACES: dict[str, Callable[[dict[str, Any]], str]] = {
    "classes": lambda stated: place_of_class_space(stated["name"]),
    "testsets": lambda stated: place_of_test_set(stated["test_set"]),
    "images": lambda stated: place_of_images(stated["test_set"]),
    "maps": lambda stated: place_of_class_map(stated["test_set"]),
    "slices": lambda stated: place_of_slices(stated["test_set"], stated["name"]),
    "labels": lambda stated: place_of_labels(stated["test_set"], f"{stated['name']}@{stated['version']}"),
    "mistakes": lambda stated: place_of_mistakes(stated["test_set"], stated["model"]),
    "reviews": lambda stated: f"{folder_of_review(stated['test_set'], stated['labels'])}/{FRAME}",
    "predictions": lambda stated: f"{folder_of_predictions(stated['test_set'], stated['model']['name'])}/{MANIFEST}",
    "checkpoints": lambda stated: f"{folder_of_checkpoints(stated['test_set'], stated['ensemble'])}/{MANIFEST}",
}
"""The place of a file by what layout 1 states in it, by the folder of the kind."""


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
