"""The rules that decide which images are hidden from a person, and until when."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from regrade.app.cache import RecentCache, answerers_stamp
from regrade.app.hidden_images import HiddenImages, PendingQueue, QueueImageIndex, QueueImages
from regrade.core import TestSet
from regrade.ledger import Ledger, Mode, Person, Question, Queue
from regrade.ledger.pending import PendingItems, PendingUntil
from regrade.store import Store
from regrade.workspace.image_contents import fill_contents

_CACHED_QUEUES = 64


class HidingRules:
    """Hides images from people who still have to answer about them, and images of examinations from everyone."""

    def __init__(self, store: Store, ledger: Ledger, *, test_set: Callable[[str], TestSet]) -> None:
        self._store = store
        self._ledger = ledger
        self._test_set = test_set
        self._pending = PendingItems(ledger.engine)
        self._images: RecentCache[QueueImages] = RecentCache(_CACHED_QUEUES)
        self._people: RecentCache[bool] = RecentCache(_CACHED_QUEUES)
        self._same_images = QueueImageIndex(store)

    def hidden_from(self, person: Person) -> HiddenImages:
        """The images that a person still has to answer about, in all queues that they may work on."""
        return self._pending_in(self._ledger.queues.open_to(person), person)

    def examined(self, examinations: Collection[Queue]) -> HiddenImages:
        """All images of examinations: no one sees them next to a class, since people could pass answers on."""
        queues = self._with_test_sets(examinations)
        if not queues:
            return HiddenImages((), self._same_images)
        sizes = self._ledger.queues.sizes([queue.id for queue in queues])
        images = [self._images_of(queue, sizes.get(queue.id, 0)) for queue in queues]
        return HiddenImages([_all_pending(queue_images) for queue_images in images], self._same_images)

    def until(self, queue: Queue) -> PendingUntil:
        """Until when the images of a queue stay hidden from the people who may work on it."""
        if is_examination(queue):
            return PendingUntil.ANSWERED
        return PendingUntil.COMPLETE if self.hides_answer_source(queue) else PendingUntil.SETTLED

    def hides_answer_source(self, queue: Queue) -> bool:
        """Whether a queue may mix people's answers with models' predictions, so that their source stays hidden."""
        return queue.question is Question.JUDGE and not queue.model and self._has_people(queue.test_set)

    def _has_people(self, test_set: str) -> bool:
        stamp = answerers_stamp(self._store, test_set)
        return self._people.get(test_set, lambda: bool(self._store.predictions.people_names(test_set)), stamp=stamp)

    def _pending_in(self, queues: Iterable[Queue], person: Person) -> HiddenImages:
        stored = self._with_test_sets(queues)
        until = {queue.id: self.until(queue) for queue in stored}
        pending = self._pending.of(person, until)
        return HiddenImages(
            [
                PendingQueue(self._images_of(queue, len(pending[queue.id])), pending[queue.id], until[queue.id])
                for queue in stored
                if pending[queue.id].any()
            ],
            self._same_images,
        )

    def _with_test_sets(self, queues: Iterable[Queue]) -> list[Queue]:
        return [queue for queue in queues if self._store.test_sets.has(queue.test_set)]

    def _images_of(self, queue: Queue, size: int) -> QueueImages:
        """The images of a queue, cached until it gets more items or its test set changes."""
        test_set = self._test_set(queue.test_set)
        return self._images.get(queue.id, lambda: self._read(queue, test_set, size), stamp=(size, test_set))

    def _read(self, queue: Queue, test_set: TestSet, size: int) -> QueueImages:
        fill_contents(self._store, self._ledger, queue)
        images = self._ledger.items.images(queue)[:size]
        positions = np.array([test_set.position_of.get(image.example, -1) for image in images], dtype=np.int64)
        items_of: dict[str, list[int]] = {}
        for number, image in enumerate(images):
            if image.content is not None:
                items_of.setdefault(image.content, []).append(number)
        return QueueImages(queue, test_set, positions, {content: tuple(items) for content, items in items_of.items()})


def _all_pending(images: QueueImages) -> PendingQueue:
    return PendingQueue(images, np.ones(len(images.positions), dtype=bool), PendingUntil.ANSWERED)


def is_examination(queue: Queue) -> bool:
    """Whether a queue is an examination of labelers."""
    return queue.question is Question.LABEL and queue.mode is Mode.EXAMINATION
