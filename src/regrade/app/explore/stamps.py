"""When the files behind a page last changed: cheap to ask, and different once anything is new."""

from __future__ import annotations

import os
from pathlib import Path

from regrade.store import Store
from regrade.store.names import file_name, original_name

Stamp = tuple[tuple[str, int], ...]
"""Names of files with the times they were written."""


def answers_stamp(store: Store, test_set: str) -> Stamp:
    """The models and people that have answers on a test set, and when these were stored."""
    folder = store.root / "predictions" / file_name(test_set)
    found = []
    for entry in _entries(folder):
        try:
            found.append((original_name(entry.name), os.stat(f"{entry.path}/manifest.json").st_mtime_ns))  # noqa: PTH116
        except OSError:
            continue
    return tuple(sorted(found, key=lambda one: (one[0].startswith("person:"), one[0])))


def test_set_stamp(store: Store, test_set: str) -> Stamp:
    """When a test set, its slices and its class map were stored."""
    name = file_name(test_set)
    own = _written(store.root / "testsets" / f"{name}.parquet", store.root / "maps" / f"{name}.json")
    return own + _files(store.root / "slices" / name)


def review_stamp(store: Store, test_set: str, labels: str) -> Stamp:
    """When the verdicts on what is novel under a label set were stored."""
    return _files(store.root / "reviews" / file_name(test_set) / file_name(labels))


def _files(folder: Path) -> Stamp:
    return _written(*(Path(entry.path) for entry in _entries(folder)))


def _written(*paths: Path) -> Stamp:
    found = []
    for path in paths:
        try:
            found.append((path.name, path.stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(sorted(found))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
