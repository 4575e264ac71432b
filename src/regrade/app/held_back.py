"""Images that a person still has to label in an examination: no other queue serves them to this person until then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from fastapi import HTTPException

from regrade.app.cache import RecentCache, Stamp, build_stamp, pairs_stamp
from regrade.app.hidden_images import HiddenImages, HidingRules, PendingQueue
from regrade.core import TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.display.wording import listed
from regrade.ledger import Item, Ledger, OpenItem, Person, Question, Queue
from regrade.store import Store
from regrade.workspace.image_contents import fill_contents
from regrade.workspace.shown_images import ShownImages

_CACHED_QUEUES = 64


@dataclass(frozen=True, eq=False)
class PlacedImages:
    """Images of a test set that a queue shows: their ``positions`` (r,) in the set, and in the queue the ``places``."""

    test_set: TestSet
    positions: IntArray
    places: IntArray


@dataclass(frozen=True, eq=False)
class QueueContents:
    """What the items of a queue show: images by test set, and the places of their own images by content."""

    images: tuple[PlacedImages, ...]
    places_of: dict[str, list[int]]


@dataclass(frozen=True)
class NextInQueue:
    """The next item, or None; ``held`` is a line about the items that are held back, empty if there are none."""

    item: Item | None
    held: str = ""


@dataclass(frozen=True)
class HeldBack:
    """The items of a queue that are held back from a person, since they show images that are to be ``examined``."""

    examined: HiddenImages
    contents: QueueContents

    def places(self) -> set[int]:
        """The places in the queue of the items that are known to be held back."""
        places: set[int] = set()
        for part in self.contents.images:
            places.update(part.places[self.examined.mask(part.test_set)[part.positions]].tolist())
        for content in self.examined.contents() & self.contents.places_of.keys():
            places.update(self.contents.places_of[content])
        return places


class HoldingRules:
    """Holds images back, in every kind of queue, from the people who still have to label them in an examination."""

    def __init__(
        self, store: Store, ledger: Ledger, hiding: HidingRules, *, test_set: Callable[[str], TestSet]
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._hiding = hiding
        self._test_set = test_set
        self._shown: RecentCache[ShownImages] = RecentCache(_CACHED_QUEUES)
        self._contents: RecentCache[QueueContents] = RecentCache(_CACHED_QUEUES)

    def held_back(self, queue: Queue, person: Person) -> HeldBack | None:
        """What a queue holds back from a person; None for an examination, and for people without an open one."""
        examined = None if queue.is_examination else self._hiding.to_examine(person)
        if examined is None or not examined.queues:
            return None
        return HeldBack(examined, self._contents_of(queue))

    def asking(self, hidden: HiddenImages, queue: Queue, item: Item | OpenItem) -> tuple[PendingQueue, ...]:
        """The queues that hide an image of an item, of all that it shows; the images are read if necessary."""
        asking: dict[int, PendingQueue] = {}
        for name, example in self._shown_in(queue).of(item.example, item.class_id):
            test_set = self._test_set(name) if self._store.test_sets.has(name) else None
            if test_set is not None and example in test_set.position_of:
                hiding = hidden.asking(test_set, test_set.position(example))
                asking |= {pending.queue.id: pending for pending in hiding}
        return tuple(asking.values())

    def refusal(self, queue: Queue, item: Item, person: Person) -> str:
        """Why an item is held back from a person; empty if it is not."""
        examined = None if queue.is_examination else self._hiding.to_examine(person)
        return _reason(() if examined is None or not examined.queues else self.asking(examined, queue, item))

    def check(self, queue: Queue, item: Item, person: Person) -> None:
        """Raise if an item is held back from a person."""
        if reason := self.refusal(queue, item, person):
            raise HTTPException(403, reason)

    def is_visible(self, person: Person, test_set: str, position: int) -> bool:
        """Whether an image is not held back from a person."""
        return not self._reason_for_image(person, test_set, position)

    def check_image(self, test_set: str, position: int, person: Person) -> None:
        """Raise if an image is held back from a person."""
        if reason := self._reason_for_image(person, test_set, position):
            raise HTTPException(403, reason)

    def _reason_for_image(self, person: Person, test_set: str, position: int) -> str:
        examined = self._hiding.to_examine(person)
        return _reason(examined.asking(self._test_set(test_set), position) if examined.queues else ())

    def next_item(self, queue: Queue, person: Person, *, after: int | None = None) -> NextInQueue:
        """Give a person their next item that is not held back."""
        held = self.held_back(queue, person)
        if held is None:
            return NextInQueue(self._ledger.items.next(queue, person, after=after))
        without = held.places()
        while (item := self._ledger.items.next(queue, person, after=after, without=without)) is not None:
            if not self.asking(held.examined, queue, item):
                break
            self._ledger.items.release(item.id, person)
            without.add(item.place)
        return NextInQueue(item, self._note(queue, person, held, without))

    def note(self, queue: Queue, person: Person) -> str:
        """One line that says how many items are known to be held back from a person, and why; empty for none."""
        held = self.held_back(queue, person)
        return "" if held is None else self._note(queue, person, held, held.places())

    def _note(self, queue: Queue, person: Person, held: HeldBack, places: set[int]) -> str:
        count = len(places.intersection(np.flatnonzero(self._hiding.open_items(queue, person)).tolist()))
        if not count:
            return ""
        by_examination = held.examined.by_queue()
        names = [repr(name) for name, part in by_examination.items() if HeldBack(part, held.contents).places()]
        are, their = ("is", "its image") if count == 1 else ("are", "their images")
        return f"{amount(count, 'item')} {are} held back until you have labeled {their} in {listed(names)}"

    def _stamp(self, queue: Queue) -> Stamp:
        if queue.question is Question.SELECT:
            return build_stamp(self._store, queue.build)
        return pairs_stamp(self._store, queue.test_set) if queue.question is Question.PAIR else ()

    def _shown_in(self, queue: Queue) -> ShownImages:
        return self._shown.get(queue.id, lambda: ShownImages(self._store, queue), stamp=self._stamp(queue))

    def _contents_of(self, queue: Queue) -> QueueContents:
        """What the items of a queue show, cached until it gets more items or one of the test sets changes."""
        shown = self._shown_in(queue)
        size = self._ledger.queues.sizes([queue.id]).get(queue.id, 0)
        names = dict.fromkeys((*self._ledger.items.test_sets(queue), *shown.more_test_sets))
        sets = {name: self._test_set(name) for name in names if self._store.test_sets.has(name)}
        return self._contents.get(
            queue.id, lambda: self._read(queue, shown, sets, size), stamp=(shown, size, tuple(sets.values()))
        )

    def _read(self, queue: Queue, shown: ShownImages, sets: Mapping[str, TestSet], size: int) -> QueueContents:
        fill_contents(self._store, self._ledger, queue)
        items = self._ledger.items.images(queue)[:size]
        placed: dict[str, list[tuple[int, int]]] = {name: [] for name in sets}
        places_of: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            for name, example in shown.of(item.example, item.class_id):
                if name in sets and example in sets[name].position_of:
                    placed[name].append((sets[name].position_of[example], place))
            if item.content is not None:
                places_of.setdefault(item.content, []).append(place)
        images = [
            PlacedImages(sets[name], *np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
            for name, pairs in placed.items()
        ]
        return QueueContents(tuple(images), places_of)


def _reason(asking: Sequence[PendingQueue]) -> str:
    """Why an image is held back that examinations still ask a person to label."""
    return "" if not asking else f"you still have to label this image in {asking[0].queue.name!r}: label it there first"
