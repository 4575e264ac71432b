"""A bounded cache of values computed from stored files, and the modification times that tell when these change."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock, RLock
from typing import Generic, TypeVar

from regrade.store import Store, file_name, original_name

Value = TypeVar("Value")

Stamp = tuple[tuple[str, int], ...]
"""File names with their modification times."""


class RecentCache(Generic[Value]):
    """Keeps the ``size`` most recently used values; a value is valid as long as its stamp stays the same."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Value], *, stamp: Hashable = None) -> Value:
        """The value of a key; ``make`` runs in one thread at a time for each key."""
        entry = self._entry(key)
        with entry.lock:
            if not entry.kept or entry.kept[0] != stamp:
                entry.kept = (stamp, make())
            return entry.kept[1]

    def __len__(self) -> int:
        """Number of values."""
        return len(self._entries)

    def outdated(self, key: Hashable) -> Value | None:
        """The last value of a key, whatever its stamp; None if there is none."""
        with self._lock:
            entry = self._entries.get(key)
        return entry.kept[1] if entry is not None and entry.kept else None

    def _entry(self, key: Hashable) -> _Entry[Value]:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
            return entry


class _Entry(Generic[Value]):
    """A value with its stamp, and the lock under which it is computed."""

    def __init__(self) -> None:
        self.kept: tuple[Hashable, Value] | None = None
        self.lock = RLock()


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


def answerers_stamp(store: Store, test_set: str) -> Stamp:
    """When the models and people with answers on a test set last changed."""
    return _written(store.root / "predictions" / file_name(test_set))


def test_set_stamp(store: Store, test_set: str) -> Stamp:
    """When a test set, its slices and its class map were stored."""
    name = file_name(test_set)
    own = _written(store.root / "testsets" / f"{name}.parquet", store.root / "maps" / f"{name}.json")
    return own + _files(store.root / "slices" / name)


def review_stamp(store: Store, test_set: str, labels: str) -> Stamp:
    """When the reviews of novel predictions under a label set were stored."""
    return _files(store.root / "reviews" / file_name(test_set) / file_name(labels))


def predictions_stamp(store: Store, test_set: str, model: str) -> Stamp:
    """When the predictions of a model on a test set were stored."""
    return _written(store.predictions.path(test_set, model) / "manifest.json")


def signatures_stamp(store: Store, test_set: str) -> Stamp:
    """When the perceptual hashes of a test set's images were stored."""
    return _written(store.root / "neighbors" / file_name(test_set))


def build_stamp(store: Store, build: str) -> Stamp:
    """When the tasks, answers, revisions and reviews of a build were stored."""
    return _files(store.root / "builds" / file_name(build))


def pairs_stamp(store: Store, test_set: str) -> Stamp:
    """When pairs of a test set's images, and decisions on them, were stored."""
    return _files(store.root / "pairs" / file_name(test_set))


def triage_stamp(store: Store, test_set: str) -> Stamp:
    """When the labels, reviews and mistake annotations that a triage is computed from were stored."""
    folders = [store.root / part / file_name(test_set) for part in ("labels", "reviews", "mistakes")]
    return _written(*(path for folder in folders for path in folder.rglob("*") if path.is_file()))


def neighbors_stamp(store: Store, test_set: str) -> tuple[Stamp, ...]:
    """When the nearest training images of a test set, and what they depend on, were stored."""
    searches = store.training_neighbors.searches(test_set)
    sets = dict.fromkeys((test_set, *(training_set for training_set, _ in searches)))
    return (
        _written(store.training_sets.path(test_set), *(store.training_neighbors.path(test_set, *s) for s in searches)),
        *(test_set_stamp(store, name) for name in sets),
        *(pairs_stamp(store, name) for name in sets),
        *(predictions_stamp(store, name, model) for name in sets for _, model in searches),
    )


def _files(folder: Path) -> Stamp:
    return _written(*(Path(entry.path) for entry in _entries(folder)))


def _written(*paths: Path) -> Stamp:
    times = []
    for path in paths:
        try:
            times.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(sorted(times))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
