"""Feedback after an answer in training: whether it is right, and the right classes. Examinations give no feedback."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from regrade.app.site import Site
from regrade.ledger import Item, Mode, Person, Question, Queue


class TrainingFeedback(BaseModel):
    """The outcome of an answer, and the ids of the right classes."""

    outcome: Literal["right", "unclear", "wrong", "unknown", "withheld"]
    right: list[str]


def training_feedback(site: Site, queue: Queue, item: Item, answer: str, person: Person) -> TrainingFeedback | None:
    """Compare an answer with the queue's label set if it has one, else with the original labels.

    Classes that people cannot tell from a right one count as right; without a label, the outcome is unknown. Labels of
    an image that the person still has to label in another queue are withheld.
    """
    if queue.question is not Question.LABEL or queue.mode is not Mode.TRAINING:
        return None
    test_set = site.test_set(queue.test_set)
    space, position = test_set.class_space, test_set.position(item.example)
    if site.unlabeled(person).asking(test_set, position):
        return TrainingFeedback(outcome="withheld", right=[])
    right, unclear = _right_and_unclear(site, queue, position)
    answered = space.index(answer)
    ids = [space.ids[index] for index in right]
    if not right:
        return TrainingFeedback(outcome="unknown", right=ids)
    if answered in right or any(answered in space.collapsed.get(index, ()) for index in right):
        return TrainingFeedback(outcome="right", right=ids)
    return TrainingFeedback(outcome="unclear" if answered in unclear else "wrong", right=ids)


def _right_and_unclear(site: Site, queue: Queue, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if queue.labels:
        labels = site.label_index(queue.test_set, queue.labels).of(position)
        return (() if labels.problematic else labels.correct), labels.unclear
    label = int(site.test_set(queue.test_set).labels[position])
    return ((label,) if label >= 0 else ()), ()
