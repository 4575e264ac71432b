"""Frozen records of people, queues, items, votes, comments and decisions, as a ledger returns them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from sqlalchemy import RowMapping

from regrade.core import UnknownName
from regrade.core.panel import Mode, Role
from regrade.ledger.questions import Question, question_named


class Purpose(Enum):
    """What the answers of a queue stand for."""

    CENSUS = "census"
    """Themselves: they become labels, annotations of mistakes or people's predictions."""
    RANDOM_SAMPLE = "random sample"
    """All novel predictions, of which the items were drawn at random: they estimate the rest."""
    AUDIT = "audit"
    """All labels that every model predicts, of which the items were drawn at random: they estimate the errors."""


@dataclass(frozen=True)
class Person:
    """A person who votes."""

    id: int
    name: str
    role: Role
    joined: datetime


@dataclass(frozen=True)
class Queue:
    """Items with the same question, each to be answered by ``overlap`` people.

    ``model`` is set if all items are predictions of one model, ``build`` if they belong to the build of a test set.
    ``purpose`` is None for a queue that an earlier version created without recording it, until the queue is published.
    """

    id: int
    name: str
    question: Question
    test_set: str
    labels: str
    overlap: int
    opened: datetime
    model: str
    mode: Mode
    purpose: Purpose | None
    build: str

    @property
    def is_examination(self) -> bool:
        """Whether it is an examination of labelers."""
        return self.question is Question.LABEL and self.mode is Mode.EXAMINATION


@dataclass(frozen=True)
class NewItem:
    """An image to ask about; ``class_id`` is the class to judge, or what `image_mark` returns if people label it.

    ``content`` is a hash of the image's pixels, or None if unknown. ``needed`` is the number of votes the item needs
    (default: the overlap of its queue); it is set for items that are imported from another ledger.
    """

    example: str
    class_id: str = ""
    stratum: int = 0
    content: str | None = None
    needed: int | None = None


@dataclass(frozen=True)
class Item:
    """An image at a ``place`` of a queue; ``missing`` of its ``needed`` votes have not been cast yet."""

    id: int
    queue_id: int
    place: int
    example: str
    class_id: str
    stratum: int
    missing: int
    needed: int


@dataclass(frozen=True)
class VoteContent:
    """What a voter submits: the answer, the severity of a mistake, the reason, and the time it took.

    ``key`` is a unique id chosen by the voter's client: submitting the same key twice counts once. ``why`` explains
    the change of an earlier vote. An ``answer`` of None retracts the earlier vote.
    """

    key: str
    answer: str | None
    severity: str | None = None
    reason: str = ""
    why: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Vote:
    """A vote in the ledger; ``replaces`` is the id of the person's earlier vote on the item, if any."""

    id: int
    item_id: int
    person_id: int
    replaces: int | None
    answer: str | None
    severity: str | None
    reason: str
    why: str
    seconds: float | None
    at: datetime


@dataclass(frozen=True)
class CountedVote:
    """A vote that was cast; ``revealed`` says whether its voter can now see the other votes on the item."""

    vote: Vote
    revealed: bool


@dataclass(frozen=True)
class Comment:
    """A comment on an item; its text may contain links."""

    id: int
    item_id: int
    person_id: int
    text: str
    at: datetime


@dataclass(frozen=True)
class Decision:
    """The decision on an item; ``last_vote`` is the id of the newest vote taken into account."""

    id: int
    item_id: int
    replaces: int | None
    answer: str
    severity: str | None
    reached: str
    person_id: int | None
    why: str
    last_vote: int
    at: datetime


def image_mark(queue: Queue, test_set: str) -> str:
    """What the items of a labeling queue have in place of a class: the test set of the image, empty for the queue's.

    A queue can so mix images of several test sets, and the hash chain covers which image of which test set was labeled.
    """
    return "" if test_set == queue.test_set else test_set


def image_set(queue: Queue, class_id: str) -> str:
    """The test set of an item's image: that of its queue, or the one that an item to label names (`image_mark`)."""
    return class_id if class_id and queue.question is Question.LABEL else queue.test_set


Record = TypeVar("Record", Person, Queue, Item, Vote, Comment, Decision)

_PARSERS: dict[str, Callable[[Any], Any]] = {
    "role": Role, "question": question_named, "mode": Mode, "purpose": lambda value: value and Purpose(value)
}  # fmt: skip


def record_of(kind: type[Record], row: RowMapping | Mapping[str, Any]) -> Record:
    """Convert a database row to a record; columns that the record does not have are ignored."""
    return kind(**{name: parse(row[column]) for name, column, parse in _FIELDS[kind]})


def record_named(records: Sequence[Record], name: str, what: str, *, first: str) -> Record:
    """The record with a name; raises if there is none, with the command that creates the ``first`` one."""
    by_name = {getattr(record, "name", ""): record for record in records}
    if name not in by_name:
        raise UnknownName(what, name, list(by_name), first=first)
    return by_name[name]


def _unchanged(value: Any) -> Any:
    return value


_FIELDS = {
    kind: [
        (field.name, "class" if field.name == "class_id" else field.name, _PARSERS.get(field.name, _unchanged))
        for field in fields(kind)
    ]
    for kind in (Person, Queue, Item, Vote, Comment, Decision)
}
"""The fields of each record type, with the column and the parser of each."""


def may_answer(role: Role, question: Question) -> bool:
    """Whether a role may answer a question: labelers only those without predictions of models, workers only grids."""
    if role is Role.WORKER:
        return question.for_workers
    return role is not Role.LABELER or not question.shows_predictions


def shows_votes(question: Question, mode: Mode, role: Role) -> bool:
    """Whether a role can see the votes on a complete item: not labelers on labels, and no one in training."""
    return mode is not Mode.TRAINING and (question.decided or role not in (Role.LABELER, Role.WORKER))
