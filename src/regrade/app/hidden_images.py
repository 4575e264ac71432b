"""The images whose label, predictions and votes stay hidden from a person, in every test set that holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from regrade.app.queue_image_index import QueueImageIndex, QueueImages
from regrade.core import TestSet
from regrade.core.arrays import BoolArray
from regrade.ledger import Question, Queue
from regrade.ledger.pending import PendingUntil

_PASSES = 10  # times that a page is chosen anew because an image on it turned out to be hidden
_Chosen = TypeVar("_Chosen")


@dataclass(frozen=True, eq=False)
class PendingQueue:
    """A queue, which of its items (n,) are pending, and until when they are."""

    images: QueueImages
    pending: BoolArray
    until: PendingUntil

    @property
    def queue(self) -> Queue:
        """The queue."""
        return self.images.queue

    @property
    def until_all(self) -> bool:
        """Whether its images stay hidden until all have voted, and not only until the person has."""
        return self.until is PendingUntil.COMPLETE

    @cached_property
    def in_own_set(self) -> BoolArray:
        """Shape (m,): the examples of the queue's test set that are pending."""
        inside = np.zeros(len(self.images.test_set) + 1, dtype=bool)  # the last: not in the test set (-1)
        inside[self.images.positions[self.pending]] = True
        return inside[:-1]


@dataclass(frozen=True)
class HiddenNote:
    """What a page says of hidden images: how many the test set has, whatever the filters of the page are.

    A number that depended on the filters would tell what the hidden images are.
    """

    count: int
    until_all: bool


class HiddenImages:
    """The images that pending items ask about, at one moment.

    Found by their ids in every test set that has the same images, and by content among those that are looked at.
    """

    def __init__(self, queues: Sequence[PendingQueue], same_images: QueueImageIndex) -> None:
        self.queues = tuple(queues)
        self._same_images = same_images
        self._by_content = any(queue.images.items_of for queue in self.queues)
        self._masks: dict[TestSet, tuple[int, BoolArray]] = {}  # each with how many contents it takes into account

    def __or__(self, other: HiddenImages) -> HiddenImages:
        """What either of the two hides."""
        return HiddenImages((*self.queues, *other.queues), self._same_images)

    def to_label(self) -> HiddenImages:
        """Only what queues of labels ask about."""
        queues = [queue for queue in self.queues if queue.queue.question is Question.LABEL]
        return HiddenImages(queues, self._same_images)

    def mask(self, test_set: TestSet) -> BoolArray:
        """Shape (n,): the examples of a test set that are known to be hidden; not to be written to."""
        read = len(self._same_images.contents(test_set).hashes) if self._by_content else 0
        if test_set not in self._masks or self._masks[test_set][0] != read:
            masks = [self._of_queue(queue, test_set) for queue in self.queues]
            self._masks[test_set] = read, np.logical_or.reduce([np.zeros(len(test_set), dtype=bool), *masks])
        return self._masks[test_set][1]

    def note(self, test_set: TestSet) -> HiddenNote:
        """What a page about a test set says of its hidden images."""
        return HiddenNote(int(self.mask(test_set).sum()), any(queue.until_all for queue in self.queues))

    def asking(self, test_set: TestSet, position: int) -> tuple[PendingQueue, ...]:
        """The queues that an image is hidden for."""
        self._look(test_set, [position])
        return tuple(queue for queue in self.queues if self._of_queue(queue, test_set)[position])

    def visible(self, test_set: TestSet, positions: Iterable[int]) -> list[int]:
        """Those of the given examples that are not hidden, also not by their content, in their order."""
        candidates = list(positions)
        self._look(test_set, candidates)
        mask = self.mask(test_set)
        return [position for position in candidates if not mask[position]]

    def settled(
        self, test_set: TestSet, choose: Callable[[BoolArray], _Chosen], shown: Callable[[_Chosen], Iterable[int]]
    ) -> _Chosen:
        """What ``choose`` takes from the examples that are not hidden (n,), once none of those ``shown`` is hidden.

        Contents are read only of what is about to be shown. Where that turns out to be hidden, the page is chosen again
        without it, so that neither a gap nor a count gives it away.
        """
        chosen = choose(self.mask(test_set))
        for _ in range(_PASSES):
            positions = list(shown(chosen))
            if len(self.visible(test_set, positions)) == len(positions):
                break
            chosen = choose(self.mask(test_set))
        return chosen

    def _look(self, test_set: TestSet, positions: Sequence[int]) -> None:
        """Read the contents of images, unless no pending item has a content to compare them with."""
        if self._by_content:
            self._same_images.contents(test_set).of(positions)

    def _of_queue(self, queue: PendingQueue, test_set: TestSet) -> BoolArray:
        """Shape (n,): the examples of a test set that a queue's pending items ask about."""
        images = queue.images
        shared = self._same_images.shared(images.test_set, test_set)
        mask = np.zeros(len(test_set), dtype=bool) if shared is None else shared.in_second(queue.in_own_set)
        if images.items_of:
            copies = self._same_images.copies(images, test_set)
            mask[copies.positions[queue.pending[copies.items]]] = True
        return mask
