"""The selection frequencies of builds, cached: how many workers select an image for a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regrade.app.cache import RecentCache, build_stamp
from regrade.build.files import TaskCollection
from regrade.build.frequencies import SelectionFrequencies
from regrade.build.steps.frequencies import load_answers
from regrade.core import RegradeError
from regrade.store import Store
from regrade.store.checked_files import read_meta

_CACHED_BUILDS = 4


@dataclass(frozen=True, eq=False)
class BuildFrequencies:
    """The selection frequencies of a build, with the classes for which each image was shown."""

    frequencies: SelectionFrequencies
    classes: Mapping[str, tuple[str, ...]]


class SelectionIndex:
    """The selection frequencies of the builds on a test set, cached until new answers are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: RecentCache[BuildFrequencies | None] = RecentCache(_CACHED_BUILDS)

    def on(self, test_set: str) -> Iterator[tuple[str, BuildFrequencies]]:
        """The builds whose pool or reference is a test set, with their frequencies."""
        tasks = TaskCollection(self._store.root)
        for build in tasks.builds():
            stated = read_meta(tasks.path(build, "tasks"))
            if test_set not in (stated["pool"], stated["reference"]):
                continue
            stamp = build_stamp(self._store, build)
            counted = self._cache.get(build, lambda build=build: _counted(self._store, build), stamp=stamp)
            if counted is not None:
                yield build, counted


def _counted(store: Store, build: str) -> BuildFrequencies | None:
    """The frequencies of a build; None without answers."""
    try:
        frequencies = load_answers(store, build).frequencies()
    except RegradeError:
        return None
    classes: dict[str, list[str]] = {}
    for (image, class_id), answers in zip(frequencies.entries, frequencies.assignments.tolist(), strict=True):
        if answers:
            classes.setdefault(image, []).append(class_id)
    return BuildFrequencies(frequencies, {image: tuple(own) for image, own in classes.items()})
