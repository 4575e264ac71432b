"""Add items to a queue, creating it if needed; items that are in it already are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core import InputError, MismatchError, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.label_set import without_version
from regrade.ledger import MOST_VOTES, Ledger, Mode, NewItem, Person, Purpose, Question, Queue, may_answer
from regrade.ledger.queues import check_assignable
from regrade.workspace.queue_result import QueueResult

DEFAULT_PANEL_SIZE = 3
"""Default number of votes per item if there are enough reviewers: the smallest panel with a majority."""

MAX_NAME_LENGTH = 80
"""Maximum length of a queue's name."""


@dataclass(frozen=True)
class QueueFiller:
    """A queue to add items to, which may exist already; an existing queue with another question raises.

    ``overlap`` is the number of votes per item (default: one per person who may answer, for questions to a panel at
    most three). A new queue is assigned to ``people``; none of them leaves it open to everyone.
    """

    ledger: Ledger
    name: str
    question: Question
    test_set: TestSet
    labels: str = ""
    overlap: int | None = None
    model: str = ""
    mode: Mode = Mode.EXAMINATION
    purpose: Purpose = Purpose.CENSUS
    people: tuple[Person, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > MAX_NAME_LENGTH:
            length = len(self.name)
            raise InputError(f"a queue's name must have 1 to {MAX_NAME_LENGTH} characters, got {length}: change --name")
        if self.overlap is not None and not 1 <= self.overlap <= MOST_VOTES:
            raise InputError(f"an item needs between 1 and {MOST_VOTES:,} votes, got an overlap of {self.overlap:,}")
        check_assignable(self.people, self.name, self.question)
        queue = self.queue
        if queue is None:
            return
        if self.people and set(self.people) != set(self.ledger.queues.assigned(queue)):
            raise MismatchError(
                f"queue {self.name!r} is assigned to other people: change that with regrade review assign"
            )
        existing = (queue.question, queue.test_set, without_version(queue.labels), queue.model, queue.mode)
        if existing != (self.question, self.test_set.name, without_version(self.labels), self.model, self.mode):
            raise MismatchError(
                f"queue {self.name!r} exists with another question, test set or labels: choose another --name"
            )
        if queue.purpose not in (None, self.purpose):
            raise MismatchError(
                f"queue {self.name!r} has the purpose {queue.purpose.value}, and these items {self.purpose.value}: "
                "choose another --name"
            )
        if self.overlap not in (None, queue.overlap):
            raise InputError(
                f"items of {self.name!r} need {queue.overlap} votes each: change that with regrade review overlap"
            )

    @cached_property
    def queue(self) -> Queue | None:
        """The existing queue, if any."""
        return next((queue for queue in self.ledger.queues.all() if queue.name == self.name), None)

    @property
    def same_question(self) -> tuple[Queue, ...]:
        """The other queues that ask the same question of the same test set."""
        same = (self.question, self.test_set.name)
        return tuple(
            queue
            for queue in self.ledger.queues.all()
            if queue.name != self.name and (queue.question, queue.test_set) == same
        )

    def keys_in_other_queues(self) -> IntArray:
        """Keys of the pairs (image, class) that are in other queues for any version of the same labels."""
        own_labels = (without_version(self.labels), self.model)
        same = [queue for queue in self.same_question if (without_version(queue.labels), queue.model) == own_labels]
        return self._keys(same)

    def keys_in_queue(self) -> IntArray:
        """Keys of the pairs that are in this queue already."""
        return self._keys([] if self.queue is None else [self.queue])

    def _keys(self, queues: Iterable[Queue]) -> IntArray:
        """The pairs of queues as integer keys; pairs that are not in the test set are left out."""
        examples, classes = self.test_set.position_of, self.test_set.class_space.index_of
        base = len(classes)
        pairs = (pair for queue in queues for pair in self.ledger.items.pairs(queue))
        keys = [
            examples[example] * base + classes[class_id]
            for example, class_id in pairs
            if example in examples and class_id in classes
        ]
        return np.array(keys, dtype=np.int64)

    def pairs_of(self, keys: IntArray, *, images: IntArray) -> tuple[IntArray, IntArray]:
        """The keys that belong to these images, as examples and classes (r,)."""
        examples, classes = np.divmod(keys, len(self.test_set.class_space))
        in_images = np.isin(examples, images)
        return examples[in_images], classes[in_images]

    def is_among(self, examples: IntArray, classes: IntArray, keys: IntArray) -> BoolArray:
        """Mask (r,) of the pairs whose key is in ``keys``."""
        return np.isin(examples.astype(np.int64) * len(self.test_set.class_space) + classes, keys)

    def add_pairs(
        self,
        examples: IntArray,
        classes: IntArray,
        strata: IntArray | None = None,
        *,
        notes: Iterable[str] = (),
        reused: int | None = None,
    ) -> QueueResult:
        """Add pairs of image and class to the queue, which is created if needed; ``reused`` ones are not added."""
        ids, space = self.test_set.ids, self.test_set.class_space
        levels = np.zeros(len(examples), dtype=np.int64) if strata is None else strata
        rows = zip(examples.tolist(), classes.tolist(), levels.tolist(), strict=True)
        return replace(self.add((NewItem(ids[e], space.ids[c], s) for e, c, s in rows), notes=notes), reused=reused)

    def add(self, items: Iterable[NewItem], *, notes: Iterable[str] = ()) -> QueueResult:
        """Add items to the queue, which is created if needed."""
        queue = self.queue or self._created()
        added = self.ledger.items.add(queue, items)
        total = self.ledger.queues.progress(queue).items
        return QueueResult(queue.name, queue.question.name, queue.overlap, added, total, tuple(notes))

    def _created(self) -> Queue:
        """The new queue, assigned before it has items."""
        queue = self.ledger.queues.create(
            self.name,
            self.question,
            test_set=self.test_set.name,
            labels=self.labels,
            overlap=self.overlap or self._default_overlap(),
            model=self.model,
            mode=self.mode,
            purpose=self.purpose,
        )
        if self.people:
            self.ledger.queues.assign(queue, self.people)
        return queue

    def _default_overlap(self) -> int:
        if self.people:
            return len(self.people)
        reviewers = sum(may_answer(person.role, self.question) for person in self.ledger.people.all())
        return max(1, min(reviewers, DEFAULT_PANEL_SIZE) if self.question.decided else reviewers)
