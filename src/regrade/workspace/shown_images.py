"""The images that the item of a queue shows: its own, both of a pair, or all tiles of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from regrade.build.files import TaskCollection
from regrade.build.grid_files import SettingsCollection
from regrade.build.tasks import TileRole
from regrade.ledger import Question, Queue, image_set
from regrade.store import Store

ShownImage = tuple[str, str]
"""The test set and the id of an image."""


class ShownImages:
    """The images that each item of a queue shows, as stored now."""

    def __init__(self, store: Store, queue: Queue) -> None:
        self.queue = queue
        self._of_task: Mapping[str, Sequence[ShownImage]] = {}
        self._second: Mapping[str, ShownImage] = {}
        if queue.question is Question.SELECT:
            self._of_task = _tiles(store, queue.build)
        elif queue.question is Question.PAIR:
            pairs = store.pair_searches.pairs(queue.test_set)
            self._second = {key: (pair.second.test_set, pair.second.image) for key, pair in pairs.items()}

    @cached_property
    def more_test_sets(self) -> frozenset[str]:
        """The test sets of images that an item shows besides its own."""
        tiles = (image for images in self._of_task.values() for image in images)
        return frozenset(name for name, _ in (*self._second.values(), *tiles))

    def of(self, example: str, class_id: str) -> Sequence[ShownImage]:
        """The images of an item; none for a task that is no longer stored."""
        if self.queue.question is Question.SELECT:
            return self._of_task.get(example, ())
        own = (image_set(self.queue, class_id), example)
        return (own, self._second[class_id]) if class_id in self._second else (own,)


def _tiles(store: Store, build: str) -> dict[str, list[ShownImage]]:
    """The images of all tasks of a build by id, with those of the qualification."""
    tasks = TaskCollection(store.root)
    if build not in tasks.builds():
        return {}
    stored, settings = tasks.read(build), SettingsCollection(store.root).newest(build)
    names = {role: stored.pool if role is TileRole.CANDIDATE else stored.reference for role in TileRole}
    all_tasks = (*(settings.tasks if settings else ()), *stored.tasks)
    return {task.id: [(names[tile.role], tile.image) for tile in task.tiles] for task in all_tasks}
