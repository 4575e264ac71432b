"""Upgrading a workspace of an older layout to the present one.

Layout 1 has no checksums and no list of its files; layouts 1 and 2 have other names for two folders.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import DamagedFile, FormatError, InputError, StoreError
from regrade.store.checked_files import PLACE, Checksums, read_meta, read_parquet, stored_json, write_parquet
from regrade.store.config import CONFIG, FORMAT, stated_version
from regrade.store.contents import contents_problems, digest_of_file
from regrade.store.file_errors import damaged, filled_folders, lost
from regrade.store.layout import (
    CHECKPOINTS,
    FRAMES,
    IMAGES,
    PREDICTIONS,
    SIGNATURES,
    STORED_OBJECTS,
    TABLES,
    place_of,
)
from regrade.store.predictions import MANIFEST
from regrade.store.review_files import DECISION_FILES, DRAWN, FRAME, decision_file_problems
from regrade.store.signatures import TABLE, THUMBNAILS
from regrade.store.transaction import transaction

_VERSION = re.compile(r"^version\s*=\s*\d+", re.MULTILINE)
_OLD_IMAGES, _OLD_NEIGHBORS = "pictures", "neighbours"
_RENAMED_FOLDERS = {_OLD_IMAGES: "images", _OLD_NEIGHBORS: "neighbors"}
"""The folders of layouts 1 and 2 that have another name in layout 3."""

_Write = Callable[[BinaryIO], object]


@dataclass(frozen=True)
class _Rewrite:
    """A file of the old layout, where it goes in the present one, and the function that writes it there."""

    old: Path
    new: Path
    write: _Write


def upgrade_workspace(root: Path) -> int:
    """Bring a workspace of an older layout to the present one, all or nothing, and return how many files changed."""
    if not (root / CONFIG).is_file():
        raise StoreError(f"{root} is not a workspace (no {CONFIG})")
    with transaction(root) as change:  # first completes an upgrade that was killed
        version = stated_version(root / CONFIG)
        if version >= FORMAT:
            raise InputError(f"{root} has layout {version}: only layouts before {FORMAT} can be upgraded")
        _refuse_files_in_the_way(root)
        rewrites = list(_rewrites_of_layout_1(root) if version == 1 else _rewrites_of_layout_2(root))
        for rewrite in rewrites:
            staged = change.write(change.new_folder() / rewrite.new.name, rewrite.write)
            if rewrite.old == rewrite.new:
                change.replace(staged, rewrite.new)
            else:
                change.place(staged, rewrite.new)
                change.remove(rewrite.old)
        text = _VERSION.sub(f"version = {FORMAT}", (root / CONFIG).read_text(encoding="utf-8"), count=1).encode()
        change.replace_at(root / CONFIG, lambda file: file.write(text))
    for folder in _RENAMED_FOLDERS:
        _remove_empty_folders(root / folder)
    return len(rewrites)


def _refuse_files_in_the_way(root: Path) -> None:
    """Raise if a file of the user has the path of a stored file of the present layout."""
    for pattern in (IMAGES, SIGNATURES):
        for path in sorted(root.glob(pattern)):
            raise InputError(
                f"{path} is in the way: layout {FORMAT} keeps its own files in {path.relative_to(root).parts[0]}/; "
                "move it out of the workspace, then upgrade again"
            )


def _rewrites_of_layout_2(root: Path) -> Iterator[_Rewrite]:
    """The files of renamed folders, with their new place; damaged and missing files raise."""
    for path in sorted(root.glob(_old_pattern(IMAGES))):
        yield _moved_table(path, root)
    for folder in _signature_folders(root):
        stated = read_meta(folder / TABLE)["files"][THUMBNAILS]
        yield _moved_table(folder / TABLE, root)
        yield _moved_thumbnails(folder / THUMBNAILS, root, Checksums.from_json(stated))
    _check_against_contents(root)


def _signature_folders(root: Path) -> Iterator[Path]:
    for folder in filled_folders(root / _OLD_NEIGHBORS, "*/*"):
        if not (folder / TABLE).is_file():
            raise lost(folder / TABLE)
        yield folder


def _check_against_contents(root: Path) -> None:
    """Raise if a file to be moved is missing, or is another version than contents.json lists."""
    paths = root.glob(_old_pattern(IMAGES))
    intact = {path.relative_to(root).as_posix(): digest_of_file(path) for path in paths}
    for place, problem in contents_problems(root, intact, ()):
        if place.partition("/")[0] in _RENAMED_FOLDERS:
            raise DamagedFile(problem)


def _moved_table(path: Path, root: Path) -> _Rewrite:
    table, meta = read_parquet(path)
    new = _new_path(path, root)
    meta[PLACE] = new.relative_to(root).as_posix()
    return _Rewrite(path, new, lambda file: write_parquet(table, meta, file))


def _moved_thumbnails(path: Path, root: Path, checksums: Checksums | None = None) -> _Rewrite:
    if not path.is_file():
        raise damaged(path, "it is missing")
    if checksums is not None and Checksums.of_file(path) != checksums:
        raise damaged(path)
    return _Rewrite(path, _new_path(path, root), partial(_copy, path))


def _copy(path: Path, file: BinaryIO) -> None:
    with path.open("rb") as source:
        shutil.copyfileobj(source, file)


def _old_pattern(pattern: str) -> str:
    """A pattern of the present layout with the name of its folder in layouts 1 and 2."""
    folder, slash, rest = pattern.partition("/")
    old_names = {new: old for old, new in _RENAMED_FOLDERS.items()}
    return f"{old_names.get(folder, folder)}{slash}{rest}"


def _new_path(path: Path, root: Path) -> Path:
    """The path in the present layout of a file of an older layout."""
    folder, *rest = path.relative_to(root).parts
    return root.joinpath(_RENAMED_FOLDERS.get(folder, folder), *rest)


def _remove_empty_folders(base: Path) -> None:
    folders = [path for path in base.rglob("*") if path.is_dir()]
    for folder in (*sorted(folders, reverse=True), base):
        with suppress(OSError):  # missing, or not empty: it contains files of the user
            folder.rmdir()


def _rewrites_of_layout_1(root: Path) -> Iterator[_Rewrite]:
    """All stored files, with their place and a checksum."""
    for pattern in TABLES:
        for path in sorted(root.glob(_old_pattern(pattern))):
            yield _Rewrite(path, _new_path(path, root), _table_writer(path, root))
    for folder in _signature_folders(root):
        yield _moved_thumbnails(folder / THUMBNAILS, root)
        yield _Rewrite(folder / TABLE, _new_path(folder / TABLE, root), _table_writer(folder / TABLE, root))
    for pattern in ("ledger.json", *STORED_OBJECTS):
        for path in sorted(root.glob(pattern)):
            if path.name != DRAWN:
                yield _Rewrite(path, path, _object_writer(path, root, _json_object(path)))
    for path in sorted(root.glob(FRAMES)):
        yield _Rewrite(path.with_name(DRAWN), path.with_name(DRAWN), _drawn_writer(path, root))
    for pattern in (PREDICTIONS, CHECKPOINTS):
        for path in sorted(root.glob(pattern)):
            content = _json_object(path) | {"files": _files_of(path.parent), "format": 2}
            yield _Rewrite(path, path, _object_writer(path, root, content))


def _table_writer(path: Path, root: Path) -> _Write:
    table, meta = _table(path)
    meta[PLACE] = _place(path, root, meta)
    if path.match(DECISION_FILES):
        meta["frame"] = _frame_digest(path)
    if path.name == TABLE:
        meta["files"] = {THUMBNAILS: Checksums.of_file(path.parent / THUMBNAILS).as_json()}
    if path.parent == root / _OLD_IMAGES:
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


def _drawn_writer(frame: Path, root: Path) -> _Write:
    """Write drawn.json, which in layout 1 is missing before the first draw and does not count files of decisions."""
    path = frame.with_name(DRAWN)
    decision_files = list(frame.parent.glob(DECISION_FILES))
    for missing, trouble in decision_file_problems(frame.parent, {"verdict_files": len(decision_files)}):
        raise damaged(missing, trouble)
    if decision_files and not path.is_file():
        raise damaged(path, "it is missing")
    drawn = _json_object(path)["drawn"] if path.is_file() else 0
    content = {"drawn": drawn, "verdict_files": len(decision_files), "frame": _frame_digest(path)}
    return _object_writer(path, root, content)


def _object_writer(path: Path, root: Path, content: dict[str, Any]) -> _Write:
    stored = stored_json(content, place=_place(path, root, content))
    return lambda file: file.write(stored)


def _place(path: Path, root: Path, stated: dict[str, Any]) -> str:
    """The place of a file by the names in its metadata, or its path if it has none.

    So a file that was renamed or swapped before the upgrade is refused afterwards.
    """
    place_by_names = _PLACES.get(path.relative_to(root).parts[0])
    if place_by_names is None or path.name == DRAWN or path.match(DECISION_FILES):
        return _new_path(path, root).relative_to(root).as_posix()
    try:
        return place_by_names(stated)
    except (KeyError, TypeError) as error:
        raise FormatError(f"{path} cannot be read: {error} is missing") from None


_PLACES: dict[str, Callable[[dict[str, Any]], str]] = {
    "classes": lambda stated: place_of("classes", stated["name"]),
    "testsets": lambda stated: place_of("testsets", stated["test_set"]),
    _OLD_IMAGES: lambda stated: place_of("images", stated["test_set"]),
    "maps": lambda stated: place_of("maps", stated["test_set"]),
    "slices": lambda stated: place_of("slices", stated["test_set"], stated["name"]),
    "labels": lambda stated: place_of("labels", stated["test_set"], f"{stated['name']}@{stated['version']}"),
    "mistakes": lambda stated: place_of("mistakes", stated["test_set"], stated["model"]),
    "reviews": lambda stated: f"{place_of('reviews', stated['test_set'], stated['labels'])}/{FRAME}",
    "predictions": lambda stated: f"{place_of('predictions', stated['test_set'], stated['model']['name'])}/{MANIFEST}",
    "checkpoints": lambda stated: f"{place_of('checkpoints', stated['test_set'], stated['ensemble'])}/{MANIFEST}",
}
"""The function that computes the place of a file from its metadata in layout 1, by folder."""


def _inside(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _json_object(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def _files_of(folder: Path) -> dict[str, Any]:
    """The checksums of all files below a folder except its manifest."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST]
    return {path.relative_to(folder).as_posix(): Checksums.of_file(path).as_json() for path in paths}
