"""The images whose label or predictions a person has seen: they may not be in an examination of this person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.display.wording import listed
from regrade.ledger import AccountState, Ledger, Person, Question, Queue, image_set, may_answer
from regrade.neighbors import no_progress
from regrade.store import Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.shared_images import shared_images
from regrade.workspace.image_contents import fill_contents
from regrade.workspace.shown_images import ShownImages

_Key = TypeVar("_Key")


@dataclass(frozen=True, eq=False)
class ImagesOfQueues:
    """Images by their ids in each test set, and by the hashes of their pixels as far as these are known."""

    store: Store
    examples: dict[str, set[str]]
    contents: frozenset[str]

    def by_id(self, test_set: TestSet) -> BoolArray:
        """Mask (n,) of the examples of a test set that are among these images, by their ids in any test set."""
        mask = np.zeros(len(test_set), dtype=bool)
        for name, examples in self.examples.items():
            source = test_set if name == test_set.name else self._stored(name)
            shared = None if source is None else shared_images(source, test_set)
            if source is not None and shared is not None:
                mask |= shared.in_second(positions_mask(source, examples))
        return mask

    def with_images(self, test_set: str, examples: set[str], contents: frozenset[str]) -> ImagesOfQueues:
        """Also some images of a test set, with the hashes of their pixels."""
        merged = self.examples | {test_set: self.examples.get(test_set, set()) | examples}
        return ImagesOfQueues(self.store, merged, self.contents | contents)

    def _stored(self, name: str) -> TestSet | None:
        return self.store.test_set(name) if self.store.test_sets.has(name) else None

    def count_in(self, ledger: Ledger, queue: Queue) -> int:
        """The number of items of a queue whose image is among these images, by id or by content."""
        masks = {name: self._mask(name) for name in ledger.items.test_sets(queue)}
        return sum(
            image.example in masks[image_set(queue, image.class_id)] or image.content in self.contents
            for image in ledger.items.images(queue)
        )

    def _mask(self, name: str) -> frozenset[str]:
        """The ids of a test set's examples that are among these images."""
        test_set = self._stored(name)
        if test_set is None:
            return frozenset()
        return frozenset(test_set.ids[position] for position in np.flatnonzero(self.by_id(test_set)).tolist())


def positions_mask(test_set: TestSet, examples: Iterable[str]) -> BoolArray:
    """Mask (n,) of the examples with these ids; unknown ids are ignored."""
    mask = np.zeros(len(test_set), dtype=bool)
    mask[[test_set.position_of[example] for example in examples if example in test_set.position_of]] = True
    return mask


def images_of_queues(
    store: Store, ledger: Ledger, queues: Sequence[Queue], *, progress: ImageProgress = no_progress
) -> ImagesOfQueues:
    """All images of some queues; missing hashes are computed first."""
    examples: dict[str, set[str]] = {}
    contents: set[str] = set()
    for queue in queues:
        fill_contents(store, ledger, queue, progress=progress)
        for image in ledger.items.images(queue):
            examples.setdefault(image_set(queue, image.class_id), set()).add(image.example)
            contents |= {image.content} if image.content else set()
    return ImagesOfQueues(store, examples, frozenset(contents))


def shows_label(queue: Queue) -> bool:
    """Whether a queue shows the label or predictions of its images: all but examinations and pairs."""
    return queue.question is not Question.PAIR and not queue.is_examination


def images_seen(
    store: Store, ledger: Ledger, person: Person, *, progress: ImageProgress = no_progress
) -> ImagesOfQueues:
    """The images on which a person has ever voted in training, or in a queue that shows labels or predictions."""
    _fill_contents_of_voted(store, ledger, person, progress)
    votes = [voted for voted in ledger.items.voted_on(person) if shows_label(voted.queue)]
    shown = {queue.id: ShownImages(store, queue) for queue in {voted.queue.id: voted.queue for voted in votes}.values()}
    examples: dict[str, set[str]] = {}
    for voted in votes:
        for name, example in shown[voted.queue.id].of(voted.image.example, voted.image.class_id):
            examples.setdefault(name, set()).add(example)
    return ImagesOfQueues(store, examples, frozenset(voted.image.content for voted in votes if voted.image.content))


def _fill_contents_of_voted(store: Store, ledger: Ledger, person: Person, progress: ImageProgress) -> None:
    without = (voted.queue for voted in ledger.items.voted_on(person) if voted.image.content is None)
    queues = {queue.id: queue for queue in without if queue.question is not Question.SELECT and shows_label(queue)}
    for queue in queues.values():
        fill_contents(store, ledger, queue, progress=progress)


def answered_after_seeing(ledger: Ledger, queue: Queue) -> dict[str, int]:
    """The answers of each person in an examination about images that they had seen before: their number, by name.

    The image is recognized by its id in the same test set, or by its content. Only people with such answers are listed.
    """
    contents = {
        (image_set(queue, image.class_id), image.example): image.content for image in ledger.items.images(queue)
    }
    answers = ledger.votes.last_answers(queue)
    counts: dict[str, int] = {}
    for person in ledger.people.all():
        seen = [voted for voted in ledger.items.voted_on(person) if shows_label(voted.queue)]
        by_id = _first_times(((voted.test_set, voted.image.example), voted.at) for voted in seen)
        by_content = _first_times((voted.image.content, voted.at) for voted in seen if voted.image.content)
        for answer in answers:
            key = answer.test_set, answer.example
            times = [time for time in (by_id.get(key), by_content.get(contents.get(key) or "")) if time is not None]
            if answer.person == person.name and times and min(times) < answer.at:
                counts[person.name] = counts.get(person.name, 0) + 1
    return counts


def _first_times(pairs: Iterable[tuple[_Key, datetime]]) -> dict[_Key, datetime]:
    """The earliest time of each key."""
    first: dict[_Key, datetime] = {}
    for key, at in pairs:
        first[key] = min(at, first.get(key, at))
    return first


def possible_examinees(ledger: Ledger, queue: Queue | None) -> tuple[Person, ...]:
    """The people who may answer a labeling queue: those it is assigned to, or else everyone with an open account."""
    if queue is not None and (assigned := ledger.queues.assigned(queue)):
        return assigned
    members = ledger.accounts.members()
    return tuple(
        member.person
        for member in members
        if member.state is not AccountState.CLOSED and may_answer(member.person.role, Question.LABEL)
    )


def check_disjoint(store: Store, ledger: Ledger, queue: Queue, people: Sequence[Person]) -> None:
    """Raise if a queue may not be given to these people (none: to everyone).

    An examination must not contain images whose label or predictions one of them has seen, and training must not
    contain images of an examination.
    """
    if queue.is_examination:
        counts = {person.name: images_seen(store, ledger, person).count_in(ledger, queue) for person in people}
        if seen := [f"{name} has seen {count:,}" for name, count in counts.items() if count]:
            images = amount(ledger.queues.progress(queue).items, "image")
            raise InputError(
                f"{queue.name} is an examination of {images}, of which {listed(seen)} in training or with labels or "
                "predictions: choose other people, or draw an examination for them with regrade review label --assign"
            )
    elif queue.question is Question.LABEL:
        for examination in ledger.queues.examinations():
            if count := images_of_queues(store, ledger, [examination]).count_in(ledger, queue):
                raise InputError(
                    f"{queue.name} is training, and {amount(count, 'image')} of it {'is' if count == 1 else 'are'} in "
                    f"the examination {examination.name}: draw another training queue with regrade review label"
                )
