"""The images whose label, predictions and votes are hidden from a person: the rules, and where these images occur."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeVar

import numpy as np

from regrade.app.cache import RecentCache, answerers_stamp, pairs_stamp
from regrade.core import PairSide, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.ledger import ItemImage, Ledger, Person, Question, Queue, Role, image_set
from regrade.ledger.pending import PendingItems, PendingUntil
from regrade.store import Store
from regrade.studies.shared_images import SharedImages, shared_images
from regrade.workspace.image_contents import ImageContents, fill_contents

MIN_SLICE_SIZE = 20
"""Fewest images of a slice whose numbers are shown to a person with hidden images in the test set."""

_CACHED_PAIRS = 32  # pairs of test sets
_CACHED_COPIES = 512  # pairs of queue and test set
_CACHED_CONTENTS = 16  # test sets
_Chosen = TypeVar("_Chosen")
_MAX_PASSES = 10  # times that a page is chosen again because an image on it turned out to be hidden


@dataclass(frozen=True, eq=False)
class QueueImages:
    """The images of a queue: the position of each item's image (n,) in the test set, and the items by content.

    The position is -1 if the test set does not contain the image.
    """

    queue: Queue
    test_set: TestSet
    positions: IntArray
    items_of: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Copies:
    """Examples of a test set with the same content as an item: their ``positions`` (r,) and the ``items`` (r,)."""

    positions: IntArray
    items: IntArray


class QueueImageIndex:
    """Finds the images of queues in any test set, with bounded caches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contents: RecentCache[ImageContents] = RecentCache(_CACHED_CONTENTS)
        self._copies: RecentCache[Copies] = RecentCache(_CACHED_COPIES)
        self._shared: RecentCache[SharedImages | None] = RecentCache(_CACHED_PAIRS)

    def shared(self, first: TestSet, second: TestSet) -> SharedImages | None:
        """The images that two test sets share, or None if they share none."""
        key = (first.name, second.name)
        return self._shared.get(key, lambda: shared_images(first, second), stamp=(first, second))

    def contents(self, test_set: TestSet) -> ImageContents:
        """The contents of a test set's images that were read so far."""
        return self._contents.get(test_set.name, lambda: ImageContents(self._store, test_set), stamp=test_set)

    def copies(self, images: QueueImages, test_set: TestSet) -> Copies:
        """The examples of a test set that, as read so far, have the same content as an item of a queue."""
        contents = self.contents(test_set).hashes
        stamp = (images, test_set, len(contents))
        return self._copies.get((images.queue.id, test_set.name), lambda: _copies(images, dict(contents)), stamp=stamp)


def _copies(images: QueueImages, contents: Mapping[int, str | None]) -> Copies:
    pairs = [
        (position, number)
        for position, content in contents.items()
        if content is not None
        for number in images.items_of.get(content, ())
    ]
    positions_and_items = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Copies(*positions_and_items.T)


@dataclass(frozen=True, eq=False)
class PendingQueue:
    """A queue, a mask of its pending items (n,), and until when they stay pending."""

    images: QueueImages
    pending: BoolArray
    until: PendingUntil

    @property
    def queue(self) -> Queue:
        """The queue."""
        return self.images.queue

    @property
    def until_all(self) -> bool:
        """Whether its images stay hidden until everyone has voted, not only until the person has."""
        return self.until is PendingUntil.COMPLETE

    @cached_property
    def in_own_set(self) -> BoolArray:
        """Shape (m,): the examples of the queue's test set that are pending."""
        inside = np.zeros(len(self.images.test_set) + 1, dtype=bool)  # the last: not in the test set (-1)
        inside[self.images.positions[self.pending]] = True
        return inside[:-1]


@dataclass(frozen=True)
class HiddenNote:
    """The number of hidden images that a page reports: that of the whole test set, whatever the page's filters are.

    A number that depended on the filters would reveal which images are hidden.
    """

    count: int
    until_all: bool


class HiddenImages:
    """The images of pending items, at one moment.

    They are matched by id in every test set with the same images, and by content among the images that were read.
    """

    def __init__(self, queues: Sequence[PendingQueue], same_images: QueueImageIndex) -> None:
        self.queues = tuple(queues)
        self._same_images = same_images
        self._by_content = any(queue.images.items_of for queue in self.queues)
        self._masks: dict[TestSet, tuple[int, BoolArray]] = {}  # with the number of contents read so far

    def __or__(self, more: HiddenImages) -> HiddenImages:
        """The images that either of the two hides."""
        return HiddenImages((*self.queues, *more.queues), self._same_images)

    def to_label(self) -> HiddenImages:
        """Only the images of labeling queues."""
        queues = [queue for queue in self.queues if queue.queue.question is Question.LABEL]
        return HiddenImages(queues, self._same_images)

    def by_queue(self) -> dict[str, HiddenImages]:
        """The images that each queue hides, by its name."""
        parts: dict[str, list[PendingQueue]] = {}
        for pending in self.queues:
            parts.setdefault(pending.queue.name, []).append(pending)
        return {name: HiddenImages(queues, self._same_images) for name, queues in parts.items()}

    def contents(self) -> set[str]:
        """The contents of the pending items, as far as they are known."""
        return {
            content
            for queue in self.queues
            for content, items in queue.images.items_of.items()
            if queue.pending[list(items)].any()
        }

    def mask(self, test_set: TestSet) -> BoolArray:
        """Shape (n,): the examples of a test set that are known to be hidden; read only."""
        read = len(self._same_images.contents(test_set).hashes) if self._by_content else 0
        if test_set not in self._masks or self._masks[test_set][0] != read:
            masks = [self._of_queue(queue, test_set) for queue in self.queues]
            self._masks[test_set] = read, np.logical_or.reduce([np.zeros(len(test_set), dtype=bool), *masks])
        return self._masks[test_set][1]

    def note(self, test_set: TestSet) -> HiddenNote:
        """The note about hidden images on pages about a test set."""
        return HiddenNote(int(self.mask(test_set).sum()), any(queue.until_all for queue in self.queues))

    def asking(self, test_set: TestSet, position: int) -> tuple[PendingQueue, ...]:
        """The queues that hide an image."""
        if not self.visible(test_set, [position]):
            asking = [queue for queue in self.queues if self._of_queue(queue, test_set)[position]]
            return tuple({queue.queue.id: queue for queue in asking}.values())
        return ()

    def visible(self, test_set: TestSet, positions: Iterable[int]) -> list[int]:
        """The given examples without those hidden by id or by content, in the given order."""
        candidates = list(positions)
        self._read_contents(test_set, candidates)
        mask = self.mask(test_set)
        return [position for position in candidates if not mask[position]]

    def choose_visible(
        self, test_set: TestSet, choose: Callable[[BoolArray], _Chosen], shown: Callable[[_Chosen], Iterable[int]]
    ) -> _Chosen:
        """Return the choice of ``choose``, which gets the mask of hidden images (n,), once all ``shown`` are visible.

        Contents are read only for images that are about to be shown. If one of them turns out to be hidden, the page
        is chosen again without it, so that neither a gap nor a count reveals it.
        """
        chosen = choose(self.mask(test_set))
        for _ in range(_MAX_PASSES):
            positions = list(shown(chosen))
            if len(self.visible(test_set, positions)) == len(positions):
                break
            chosen = choose(self.mask(test_set))
        return chosen

    def withhold_slice(self, test_set: TestSet, inside: BoolArray) -> bool:
        """Whether to withhold the numbers of a slice, ``inside`` (n,): it is small, or all its images are hidden.

        Its numbers would reveal which models are right on hidden images. Small slices are withheld even if none of
        their own images is hidden: otherwise this would reveal which ones are.
        """
        few = bool(np.count_nonzero(inside) < MIN_SLICE_SIZE)
        if few:
            self._read_contents(test_set, np.flatnonzero(inside).tolist())
        mask = self.mask(test_set)
        return bool(mask.any()) and (few or bool(mask[inside].all()))

    def _read_contents(self, test_set: TestSet, positions: Sequence[int]) -> None:
        """Read the contents of images, if any pending item has a content to compare them with."""
        if self._by_content:
            self._same_images.contents(test_set).of(positions)

    def _of_queue(self, queue: PendingQueue, test_set: TestSet) -> BoolArray:
        """Shape (n,): the examples of a test set that are pending in a queue."""
        images = queue.images
        shared = self._same_images.shared(images.test_set, test_set)
        mask = np.zeros(len(test_set), dtype=bool) if shared is None else shared.in_second(queue.in_own_set)
        if images.items_of:
            copies = self._same_images.copies(images, test_set)
            mask[copies.positions[queue.pending[copies.items]]] = True
        return mask


_CACHED_QUEUES = 64


_NOBODY = Person(0, "", Role.LABELER, datetime(1970, 1, 1, tzinfo=UTC))
"""A person without any vote."""


class HidingRules:
    """Hides images from people who still have to answer about them, and images of examinations from everyone."""

    def __init__(self, store: Store, ledger: Ledger, *, test_set: Callable[[str], TestSet]) -> None:
        self._store = store
        self._ledger = ledger
        self._test_set = test_set
        self._pending = PendingItems(ledger.engine)
        self._images: RecentCache[tuple[QueueImages, ...]] = RecentCache(_CACHED_QUEUES)
        self._set_names: RecentCache[tuple[str, ...]] = RecentCache(_CACHED_QUEUES)
        self._second: RecentCache[tuple[QueueImages, ...]] = RecentCache(_CACHED_QUEUES)
        self._people: RecentCache[bool] = RecentCache(_CACHED_QUEUES)
        self._same_images = QueueImageIndex(store)

    def hidden_from(self, person: Person) -> HiddenImages:
        """The images that a person still has to answer about, in all queues that they may work on."""
        queues = self._with_test_sets(self._ledger.queues.open_to(person))
        return self._pending_in({queue: self.until(queue) for queue in queues}, person)

    def to_examine(self, person: Person) -> HiddenImages:
        """The images that examinations still ask a person to label: no other queue shows these to them until then.

        An image that has all the votes it needs is not asked for any more, and would otherwise be held back forever.
        """
        examinations = [queue for queue in self._ledger.queues.open_to(person) if queue.is_examination]
        return self._pending_in(dict.fromkeys(self._with_test_sets(examinations), PendingUntil.SETTLED), person)

    def open_items(self, queue: Queue, person: Person) -> BoolArray:
        """Shape (n,): the items of a queue that a person may still answer."""
        return self._pending.of(person, {queue.id: PendingUntil.SETTLED})[queue.id]

    def all_of(self, queues: Collection[Queue]) -> HiddenImages:
        """All images of some queues, answered or not."""
        sizes = self._sizes(queues)
        images = [part for queue in self._with_test_sets(queues) for part in self._images_of(queue, sizes[queue.id])]
        return HiddenImages([_all_pending(part) for part in images], self._same_images)

    def with_all_of(self, hidden: HiddenImages, queue: Queue) -> HiddenImages:
        """``hidden`` with all images of a queue, answered or not; its images are not read again if some are hidden."""
        parts = [pending.images for pending in hidden.queues if pending.queue.id == queue.id]
        if not parts:
            return hidden | self.all_of([queue])
        return hidden | HiddenImages([_all_pending(part) for part in parts], self._same_images)

    def test_sets(self, queues: Collection[Queue]) -> tuple[str, ...]:
        """The test sets of the images of some queues, each once."""
        sizes = self._sizes([queue for queue in queues if queue.question is Question.LABEL])
        names = (self._set_names_of(queue, sizes.get(queue.id, 0)) for queue in queues)
        return tuple(dict.fromkeys(name for of_queue in names for name in of_queue))

    def _sizes(self, queues: Collection[Queue]) -> dict[int, int]:
        """The number of items by queue."""
        ids = [queue.id for queue in queues]
        return dict.fromkeys(ids, 0) | (self._ledger.queues.sizes(ids) if ids else {})

    def _set_names_of(self, queue: Queue, size: int) -> tuple[str, ...]:
        if queue.question is not Question.LABEL:
            return (queue.test_set,)
        return self._set_names.get(queue.id, lambda: self._ledger.items.test_sets(queue), stamp=size)

    def hidden_from_public(self, *, leaving_out: Collection[int] = ()) -> HiddenImages:
        """The images that someone still has to answer about, in any queue but those ``leaving_out``, by id.

        A visitor without an account may be anyone: images of examinations are hidden even from those who have answered.
        """
        queues = [queue for queue in self._ledger.queues.all() if queue.id not in leaving_out]
        stored = self._with_test_sets(queues)
        until = {queue.id: PendingUntil.COMPLETE for queue in stored if not queue.is_examination}
        pending = self._pending.of(_NOBODY, until)
        open_queues = [
            PendingQueue(images, pending[queue.id], PendingUntil.COMPLETE)
            for queue in stored
            if queue.id in pending and pending[queue.id].any()
            for images in self._all_images_of(queue, len(pending[queue.id]))
        ]
        examinations = self.all_of([queue for queue in stored if queue.is_examination])
        return HiddenImages(open_queues, self._same_images) | examinations

    def until(self, queue: Queue) -> PendingUntil:
        """Until when the images of a queue stay hidden from the people who may work on it."""
        if queue.is_examination:
            return PendingUntil.ANSWERED
        return PendingUntil.COMPLETE if self.hides_answer_source(queue) else PendingUntil.SETTLED

    def hides_answer_source(self, queue: Queue) -> bool:
        """Whether a queue may mix people's answers with models' predictions, so that their source stays hidden."""
        return queue.question is Question.JUDGE and not queue.model and self._has_people(queue.test_set)

    def _has_people(self, test_set: str) -> bool:
        stamp = answerers_stamp(self._store, test_set)
        return self._people.get(test_set, lambda: bool(self._store.predictions.people_names(test_set)), stamp=stamp)

    def _pending_in(self, queues: Mapping[Queue, PendingUntil], person: Person) -> HiddenImages:
        pending = self._pending.of(person, {queue.id: until for queue, until in queues.items()})
        return HiddenImages(
            [
                PendingQueue(images, pending[queue.id], until)
                for queue, until in queues.items()
                if pending[queue.id].any()
                for images in self._all_images_of(queue, len(pending[queue.id]))
            ],
            self._same_images,
        )

    def _with_test_sets(self, queues: Iterable[Queue]) -> list[Queue]:
        """The queues about images of a stored test set; items of grids are tasks, not images."""
        about_images = [queue for queue in queues if queue.question is not Question.SELECT]
        return [queue for queue in about_images if self._store.test_sets.has(queue.test_set)]

    def _all_images_of(self, queue: Queue, size: int) -> tuple[QueueImages, ...]:
        """The images of a queue by test set; of a queue of pairs also the second images."""
        own = self._images_of(queue, size)
        if queue.question is not Question.PAIR:
            return own
        stamp = (size, pairs_stamp(self._store, queue.test_set))
        return *own, *self._second.get(queue.id, lambda: self._read_second(queue, size), stamp=stamp)

    def _read_second(self, queue: Queue, size: int) -> tuple[QueueImages, ...]:
        pairs = self._store.pair_searches.pairs(queue.test_set)
        keys = [image.class_id for image in self._ledger.items.images(queue)[:size]]
        sides = [pairs[key].second if key in pairs else None for key in keys]
        names = dict.fromkeys(side.test_set for side in sides if side and self._store.test_sets.has(side.test_set))
        return tuple(_second_images(queue, self._test_set(name), sides) for name in names)

    def _images_of(self, queue: Queue, size: int) -> tuple[QueueImages, ...]:
        """The images of a queue by test set, cached until it gets more items or one of its test sets changes."""
        names = [name for name in self._set_names_of(queue, size) if self._store.test_sets.has(name)]
        test_sets = tuple(self._test_set(name) for name in names)
        return self._images.get(queue.id, lambda: self._read(queue, test_sets, size), stamp=(size, test_sets))

    def _read(self, queue: Queue, test_sets: Sequence[TestSet], size: int) -> tuple[QueueImages, ...]:
        fill_contents(self._store, self._ledger, queue)
        images = self._ledger.items.images(queue)[:size]
        items_of: dict[str, list[int]] = {}
        for number, image in enumerate(images):
            if image.content is not None:
                items_of.setdefault(image.content, []).append(number)
        contents = {content: tuple(items) for content, items in items_of.items()}  # of all sets, matched once
        return tuple(
            QueueImages(queue, test_set, _positions(queue, images, test_set), {} if place else contents)
            for place, test_set in enumerate(test_sets)
        )


def _positions(queue: Queue, images: Sequence[ItemImage], test_set: TestSet) -> IntArray:
    """The positions (n,) of the images of items in a test set; -1 for items about another one."""
    position_of, mark = test_set.position_of, test_set.name
    return np.array(
        [
            position_of.get(image.example, -1) if image_set(queue, image.class_id) == mark else -1
            for image in images
        ],
        dtype=np.int64,
    )  # fmt: skip


def _second_images(queue: Queue, test_set: TestSet, sides: Sequence[PairSide | None]) -> QueueImages:
    """The second images of pairs that are in a test set."""
    positions = [
        test_set.position_of.get(side.image, -1) if side is not None and side.test_set == test_set.name else -1
        for side in sides
    ]
    return QueueImages(queue, test_set, np.array(positions, dtype=np.int64), {})


def _all_pending(images: QueueImages) -> PendingQueue:
    return PendingQueue(images, np.ones(len(images.positions), dtype=bool), PendingUntil.ANSWERED)
