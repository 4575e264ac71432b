"""Modification times of stored files, as cache keys."""

from __future__ import annotations

import os
from pathlib import Path

from regrade.store import Store, file_name, original_name

Stamp = tuple[tuple[str, int], ...]
"""File names with their modification times."""


def answers_stamp(store: Store, test_set: str) -> Stamp:
    """The models and people with answers on a test set, and when these were stored."""
    folder = store.root / "predictions" / file_name(test_set)
    times = []
    for entry in _entries(folder):
        try:
            times.append((original_name(entry.name), os.stat(f"{entry.path}/manifest.json").st_mtime_ns))  # noqa: PTH116
        except OSError:
            continue
    return tuple(sorted(times, key=lambda entry: (entry[0].startswith("person:"), entry[0])))


def test_set_stamp(store: Store, test_set: str) -> Stamp:
    """When a test set, its slices and its class map were stored."""
    name = file_name(test_set)
    own = _written(store.root / "testsets" / f"{name}.parquet", store.root / "maps" / f"{name}.json")
    return own + _files(store.root / "slices" / name)


def review_stamp(store: Store, test_set: str, labels: str) -> Stamp:
    """When the reviews of novel predictions under a label set were stored."""
    return _files(store.root / "reviews" / file_name(test_set) / file_name(labels))


def _files(folder: Path) -> Stamp:
    return _written(*(Path(entry.path) for entry in _entries(folder)))


def _written(*paths: Path) -> Stamp:
    times = []
    for path in paths:
        try:
            times.append((path.name, path.stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(sorted(times))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
