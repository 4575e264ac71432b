"""The grids of builds in the app: what a worker does next, tiles under opaque URLs, and example images of a class."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread

from regrade.app.cache import RecentCache, build_stamp
from regrade.app.images import decode_opaque_id, encode_opaque_id
from regrade.build.files import AnswerCollection
from regrade.build.grid_progress import AnswerLog, GridProgress, candidate_agreement, grid_progress
from regrade.build.grid_work import GridWork, NextStep, Step, is_qualification
from regrade.build.qualification import control_images
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import GridTask, Tile, TileRole, classes_of
from regrade.build.tile_images import TileImages
from regrade.build.tiles import TileFormat, render_tile
from regrade.core import ClassSpace, Estimate, RegradeError, UnknownName, UnreadableImage
from regrade.core.cores import usable_cores
from regrade.ledger import Ledger, Person, Question, Queue
from regrade.ledger.schema import now_in_utc
from regrade.store import Store

MOST_EXAMPLES, FEWEST_EXAMPLES = 8, 3
"""Example images of a class next to a task: at most, and at least, or none are shown."""

_EXAMPLE = 1 << 31  # added to the number of a class in the URL of an example, which is above all row ids
_CACHED_GRIDS = 32  # rendered grids, about 1.5 MB each
_CACHED_BUILDS = 8
_WIKIPEDIA = "https://en.wikipedia.org/wiki/Special:Search?"

RenderedTile = bytes | str
"""A tile, or the reason why its image cannot be read."""


class OpenGrids:
    """The grids of one build: the work on them, and their images."""

    def __init__(self, store: Store, work: GridWork) -> None:
        self.work = work
        self._store = store
        self.format = TileFormat(work.settings.options.size)

    @cached_property
    def images(self) -> TileImages:
        """The images of the tiles."""
        return TileImages(self._store, self.work.stored)

    @property
    def space(self) -> ClassSpace:
        """The classes of the build."""
        return self.images.pool.class_space

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes with tasks, which number the URLs of examples."""
        return classes_of((*self.work.stored.tasks, *self.work.settings.tasks))

    @cached_property
    def _references(self) -> dict[str, list[str]]:
        return images_by_class(self.images.reference)

    @cached_property
    def _shown_in_tasks(self) -> frozenset[str]:
        """The reference images of any grid: as an example, they would tell the answer."""
        own = (tile.image for task in self.work.settings.tasks for tile in task.tiles)
        return control_images(self.work.stored) | frozenset(own)

    def examples(self, class_id: str) -> list[Tile]:
        """Reference images of a class that are in no grid; empty if there are too few."""
        free = [image for image in self._references.get(class_id, ()) if image not in self._shown_in_tasks]
        chosen = free[:MOST_EXAMPLES] if len(free) >= FEWEST_EXAMPLES else []
        return [Tile(image, TileRole.POSITIVE) for image in chosen]

    def render(self, tiles: Sequence[Tile]) -> list[RenderedTile]:
        """All tiles of a grid, so that the response time of one tells nothing about its image."""
        return [self._render(tile) for tile in tiles]

    def _render(self, tile: Tile) -> RenderedTile:
        place = self.images.of(tile)
        try:
            return render_tile(place.images.read(place.position), place.source, self.format)
        except UnreadableImage as error:
            return str(error)


class Grids:
    """The grids of all builds, cached until the files of a build change."""

    def __init__(self, store: Store, ledger: Ledger, key: bytes) -> None:
        self._store = store
        self._ledger = ledger
        self._key = key
        self._open: RecentCache[OpenGrids] = RecentCache(_CACHED_BUILDS)
        self._rendered = _RenderedGrids()

    def of(self, queue: Queue) -> OpenGrids:
        """The grids of a queue of tasks; raises for another kind of queue."""
        if queue.question is not Question.SELECT or is_qualification(queue):
            raise UnknownName("queue of grids", queue.name, None)
        stamp = (queue.id, build_stamp(self._store, queue.build))
        return self._open.get(queue.build, lambda: self._load(queue.build), stamp=stamp)

    def _load(self, build: str) -> OpenGrids:
        """Read a build, and count answers that were imported or published since."""
        work = GridWork.load(self._store, self._ledger, build)
        work.update_needed()
        return OpenGrids(self._store, work)

    def tile_address(self, queue: Queue, person: Person, item_id: int, position: int) -> str:
        """The URL of a tile, which is another one for each person, and in each task."""
        return f"/tiles/{queue.id}/{encode_opaque_id(self._key_of(queue, person), item_id, position)}"

    def tile_addresses(self, queue: Queue, person: Person, item_id: int, task: GridTask) -> list[str]:
        """The URLs of the tiles of a task, in its stored order."""
        return [self.tile_address(queue, person, item_id, position) for position in range(len(task.tiles))]

    def example_addresses(
        self, queue: Queue, person: Person, class_id: str, *, visible: Callable[[str, int], bool]
    ) -> list[str]:
        """The URLs of the examples of a class, without those that are not ``visible``, by test set and position."""
        grids = self.of(queue)
        number = _EXAMPLE + grids.classes.index(class_id)
        reference = grids.images.reference
        return [
            self.tile_address(queue, person, number, position)
            for position, tile in enumerate(grids.examples(class_id))
            if visible(reference.name, reference.position(tile.image))
        ]

    def shown_at(self, queue: Queue, person: Person, opaque_id: str) -> tuple[str, int]:
        """The test set and the position of the image of a tile, by the last part of its URL."""
        grids, (_, tiles, position) = self.of(queue), self._tiles(queue, person, opaque_id)
        tile = tiles[position]
        test_set = grids.images.pool if tile.role is TileRole.CANDIDATE else grids.images.reference
        return test_set.name, test_set.position(tile.image)

    def position(self, queue: Queue, person: Person, item_id: int, opaque_id: str) -> int:
        """The position of a tile in its task by the last part of its URL; raises for a tile of another task."""
        numbers = decode_opaque_id(self._key_of(queue, person), opaque_id)
        if numbers is None or numbers[0] != item_id:
            raise UnknownName("tile of this task", opaque_id, None)
        return numbers[1]

    async def tile(self, queue: Queue, person: Person, opaque_id: str) -> bytes:
        """A tile by the last part of its URL; raises if its image cannot be read."""
        grids = await to_thread.run_sync(self.of, queue)
        name, shown, position = await to_thread.run_sync(self._tiles, queue, person, opaque_id)
        key = (queue.id, name, grids.format)
        content = (await self._rendered.get(key, partial(grids.render, shown)))[position]
        if isinstance(content, str):
            raise UnreadableImage(content)
        return content

    def _tiles(self, queue: Queue, person: Person, opaque_id: str) -> tuple[tuple[str, bool], list[Tile], int]:
        """The tiles that are rendered together with a tile, what identifies them, and its position among them."""
        numbers = decode_opaque_id(self._key_of(queue, person), opaque_id)
        if numbers is None:
            raise UnknownName("tile", opaque_id, None)
        grids, (number, position) = self.of(queue), numbers
        if number >= _EXAMPLE:
            class_id = grids.classes[number - _EXAMPLE]
            return (class_id, True), grids.examples(class_id), position
        task = grids.work.task_of(number)
        return (task.id, False), list(task.tiles), position

    def _key_of(self, queue: Queue, person: Person) -> bytes:
        return blake2b(f"tiles {queue.id} {person.id}".encode(), digest_size=32, key=self._key).digest()


class _RenderedGrids:
    """The most recently rendered grids; requests that wait for one need no thread, of which there are few."""

    def __init__(self) -> None:
        self._grids: OrderedDict[Hashable, asyncio.Future[list[RenderedTile]]] = OrderedDict()
        self._limit: CapacityLimiter | None = None

    async def get(self, key: Hashable, render: Callable[[], list[RenderedTile]]) -> list[RenderedTile]:
        """The tiles of a grid; all its requests wait for the same rendering."""
        if key not in self._grids:
            self._limit = self._limit or CapacityLimiter(usable_cores())
            self._grids[key] = asyncio.ensure_future(to_thread.run_sync(render, limiter=self._limit))
        self._grids.move_to_end(key)
        while len(self._grids) > _CACHED_GRIDS:
            self._grids.popitem(last=False)
        try:
            tiles = await asyncio.shield(self._grids[key])
        except RegradeError:
            self._grids.pop(key, None)
            raise
        if any(isinstance(tile, str) for tile in tiles):  # its file may be repaired
            self._grids.pop(key, None)
        return tiles


@dataclass(frozen=True)
class WorkSummary:
    """A build on a worker's home page: the queue, their standing, and how many tasks are done and left."""

    queue: Queue
    next: Step
    done: int
    left: int
    contact: str
    reason: str


def work_summary(grids: OpenGrids, worker: Person) -> WorkSummary:
    """What a worker's home page says about a build; no task is reserved."""
    work = grids.work
    step, options = work.step_without_task(worker), work.settings.options
    left = work.ledger.queues.pace(work.queue, worker).left
    if options.per_worker is not None:
        left = min(left, max(options.per_worker - step.done, 0))
    return WorkSummary(work.queue, step.step, step.done, left, options.contact, stop_reason(step))


def stop_reason(step: NextStep) -> str:
    """Why a worker gets no more tasks, in words for them; empty if an owner gave no reason or there is none."""
    last = step.standing.last
    if last is None or step.step not in (Step.PAUSED, Step.EXCLUDED, Step.FAILED):
        return ""
    if last.by is not None:
        return last.reason
    return {
        Step.FAILED: "too many images of the qualification were selected or left out by mistake",
    }.get(step.step, "too many answers about images whose class is known were not right")


def wikipedia_address(name: str) -> str:
    """The article on a class, or a search for it.

    >>> wikipedia_address("tabby cat")
    'https://en.wikipedia.org/wiki/Special:Search?go=Go&search=tabby+cat'
    """
    return _WIKIPEDIA + urlencode({"go": "Go", "search": name})


class ProgressCache:
    """The progress of builds: answers are read once, then extended; agreement is computed once per minute."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._logs: RecentCache[AnswerLog] = RecentCache(_CACHED_BUILDS)
        self._outside: RecentCache[int] = RecentCache(_CACHED_BUILDS)
        self._agreement: RecentCache[Estimate | None] = RecentCache(_CACHED_BUILDS)

    def of(self, grids: OpenGrids) -> GridProgress:
        """The progress of a build now."""
        work, now = grids.work, now_in_utc()
        build = work.stored.build
        log = self._logs.get(build, lambda: AnswerLog(work), stamp=work)
        outside = self._outside.get(
            build, lambda: self._count_outside(build, log), stamp=build_stamp(self._store, build)
        )
        minute = (work, now.timestamp() // 60)
        agreement = self._agreement.get(build, lambda: candidate_agreement(work, log), stamp=minute)
        return grid_progress(work, log, outside=outside, now=now, agreement=agreement)

    def _count_outside(self, build: str, log: AnswerLog) -> int:
        """The number of answers that were not given in the app."""
        inside = {(answer.task, answer.worker) for answer in log.refresh()}
        return sum((row.task, row.worker) not in inside for row in AnswerCollection(self._store.root).read(build))
