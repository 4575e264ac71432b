"""What someone is told after an answer in training: whether it is right, and what is. In an examination, nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from regrade.app.site import Site
from regrade.ledger import Item, Mode, Person, Question, Queue


class TrainingFeedback(BaseModel):
    """How an answer compares with what is known, and the ids of the classes that are right."""

    outcome: Literal["right", "unclear", "wrong", "unknown", "withheld"]
    right: list[str]


def told_after(site: Site, queue: Queue, item: Item, answer: str, person: Person) -> TrainingFeedback | None:
    """What is told of an answer: by the queue's labels if it has any, else by the test set's own.

    Classes that people cannot tell from a right one count as right; a image without a label tells nothing. Labels of
    an image that the person still has to label in another queue are withheld.
    """
    if queue.question is not Question.LABEL or queue.mode is not Mode.TRAINING:
        return None
    test_set = site.test_set(queue.test_set)
    space, position = test_set.class_space, test_set.position(item.example)
    if site.unlabeled(person).asking(test_set, position):
        return TrainingFeedback(outcome="withheld", right=[])
    right, unclear = _known(site, queue, position)
    given = space.index(answer)
    ids = [space.ids[one] for one in right]
    if not right:
        return TrainingFeedback(outcome="unknown", right=ids)
    if given in right or any(given in space.collapsed.get(one, ()) for one in right):
        return TrainingFeedback(outcome="right", right=ids)
    return TrainingFeedback(outcome="unclear" if given in unclear else "wrong", right=ids)


def _known(site: Site, queue: Queue, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if queue.labels:
        known = site.label_book(queue.test_set, queue.labels).of(position)
        return (() if known.problematic else known.correct), known.unclear
    label = int(site.test_set(queue.test_set).labels[position])
    return ((label,) if label >= 0 else ()), ()
