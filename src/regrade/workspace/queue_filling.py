"""Filling a queue: found by its name or opened, and given only what it does not ask yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import InputError, MismatchError, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.label_set import without_version
from regrade.ledger import MOST_VOTES, Ledger, Mode, NewItem, Question, Queue, may_answer
from regrade.workspace.queue_result import QueueResult

PANEL = 3
"""People who judge an item unless told otherwise, where there are as many: the fewest that a majority needs."""

LONGEST_NAME = 80
"""The most letters of a queue's name."""


@dataclass(frozen=True)
class Filling:
    """A queue that is to be filled, there already or not; one that asks something else under its name raises.

    ``overlap`` is how many people an item is for; as many as may answer unless told, and for questions to a panel no
    more than three.
    """

    ledger: Ledger
    name: str
    question: Question
    test_set: TestSet
    labels: str = ""
    overlap: int | None = None
    model: str = ""
    mode: Mode = Mode.EXAMINATION

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > LONGEST_NAME:
            raise InputError(
                f"a queue's name has 1 to {LONGEST_NAME} letters, got {len(self.name)}: give another --name"
            )
        if self.overlap is not None and not 1 <= self.overlap <= MOST_VOTES:
            raise InputError(f"an item needs between 1 and {MOST_VOTES:,} votes, got an overlap of {self.overlap:,}")
        there = self.queue
        if there is None:
            return
        asked = (there.question, there.test_set, without_version(there.labels), there.model, there.mode)
        if asked != (self.question, self.test_set.name, without_version(self.labels), self.model, self.mode):
            raise MismatchError(f"the queue {self.name!r} is there and asks something else: give another --name")
        if self.overlap not in (None, there.overlap):
            raise InputError(
                f"items of {self.name!r} need {there.overlap} votes each: change that with regrade review overlap"
            )

    @cached_property
    def queue(self) -> Queue | None:
        """The queue, if it is there."""
        return next((one for one in self.ledger.queues() if one.name == self.name), None)

    @property
    def alike(self) -> tuple[Queue, ...]:
        """The other queues that ask the same question of the same test set."""
        same = (self.question, self.test_set.name)
        return tuple(
            one for one in self.ledger.queues() if one.name != self.name and (one.question, one.test_set) == same
        )

    def asked_elsewhere(self) -> IntArray:
        """The pairs of image and class, as keys, that other queues ask about under any version of the same labels."""
        mine = (without_version(self.labels), self.model)
        same = [one for one in self.alike if (without_version(one.labels), one.model) == mine]
        return self._keys(same)

    def asked_here(self) -> IntArray:
        """The pairs that this queue asks about already, as keys."""
        return self._keys([] if self.queue is None else [self.queue])

    def _keys(self, queues: Iterable[Queue]) -> IntArray:
        """The pairs of queues as single numbers; those that the test set does not know are left out."""
        examples, classes = self.test_set.position_of, self.test_set.class_space.index_of
        base = len(classes)
        pairs = (pair for one in queues for pair in self.ledger.pairs(one))
        known = [
            examples[example] * base + classes[own] for example, own in pairs if example in examples and own in classes
        ]
        return np.array(known, dtype=np.int64)

    def pairs_of(self, asked: IntArray, *, images: IntArray) -> tuple[IntArray, IntArray]:
        """Those of the keys that are asked about some images, as examples and classes (r,)."""
        examples, classes = np.divmod(asked, len(self.test_set.class_space))
        near = np.isin(examples, images)
        return examples[near], classes[near]

    def is_asked(self, examples: IntArray, classes: IntArray, asked: IntArray) -> BoolArray:
        """Which pairs (r,) are among the keys that are asked."""
        return np.isin(examples.astype(np.int64) * len(self.test_set.class_space) + classes, asked)

    def add_pairs(
        self, examples: IntArray, classes: IntArray, strata: IntArray | None = None, *, notes: Iterable[str] = ()
    ) -> QueueResult:
        """Put pairs of image and class into the queue, opened if it is not there yet."""
        ids, space = self.test_set.ids, self.test_set.class_space
        levels = np.zeros(len(examples), dtype=np.int64) if strata is None else strata
        rows = zip(examples.tolist(), classes.tolist(), levels.tolist(), strict=True)
        return self.add((NewItem(ids[e], space.ids[c], s) for e, c, s in rows), notes=notes)

    def add(self, items: Iterable[NewItem], *, notes: Iterable[str] = ()) -> QueueResult:
        """Put items into the queue, opened if it is not there yet."""
        queue = self.queue or self.ledger.open_queue(
            self.name,
            self.question,
            test_set=self.test_set.name,
            labels=self.labels,
            overlap=self.overlap or self._usual_overlap(),
            model=self.model,
            mode=self.mode,
        )
        added = self.ledger.add_items(queue, items)
        total = self.ledger.progress(queue).items
        return QueueResult(queue.name, queue.question.value, queue.overlap, added, total, tuple(notes))

    def _usual_overlap(self) -> int:
        able = sum(may_answer(one.role, self.question) for one in self.ledger.people())
        return max(1, able if self.question is Question.LABEL else min(able, PANEL))
