"""What a ledger gives back: people, queues, items, votes, comments and decisions as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Role(Enum):
    """What someone may do."""

    OWNER = "owner"
    """Everything, people and queues included."""
    REVIEWER = "reviewer"
    """Judge, discuss, decide, write the guide, see all results."""
    LABELER = "labeler"
    """Label images, and see no model's answer and no one else's."""


class Question(Enum):
    """What a queue asks of a image."""

    JUDGE = "judge"
    """Is this class right?"""
    LABEL = "label"
    """Which class is it?"""
    MISTAKE = "mistake"
    """Of what kind is this mistake, and how grave?"""


class Mode(Enum):
    """What is told after an answer."""

    EXAMINATION = "examination"
    """Nothing."""
    TRAINING = "training"
    """Which classes are right: for learning, and never counted."""


@dataclass(frozen=True)
class Person:
    """Someone who votes."""

    id: int
    name: str
    role: Role
    joined: datetime


@dataclass(frozen=True)
class Queue:
    """Items with one question, each for ``overlap`` people; ``model`` is whose predictions they are, if one's."""

    id: int
    name: str
    question: Question
    test_set: str
    labels: str
    overlap: int
    opened: datetime
    model: str
    mode: Mode


@dataclass(frozen=True)
class NewItem:
    """A image to ask about; ``class_id`` is what is judged, empty where a label is asked for.

    ``content`` is a hash of the image's pixels, none where it is not known. It ``needed`` votes elsewhere, where it was
    read back from another ledger; new items need as many as their queue says.
    """

    example: str
    class_id: str = ""
    stratum: int = 0
    content: str | None = None
    needed: int | None = None


@dataclass(frozen=True)
class Item:
    """A image in a queue; of the votes that it needs, ``missing`` have not been given yet."""

    id: int
    queue_id: int
    example: str
    class_id: str
    stratum: int
    missing: int
    needed: int


@dataclass(frozen=True)
class VoteContent:
    """What someone fills in: an answer, how grave a mistake is, the reason, and how long it took.

    ``key`` is the voter's own and told once: a ballot that arrives twice counts once. ``why`` says why an earlier
    vote is changed. No answer takes an earlier vote back.
    """

    key: str
    answer: str | None
    severity: str | None = None
    reason: str = ""
    why: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Vote:
    """A ballot in the ledger."""

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
    """A vote, and whether its voter can see the votes of others on the item by now: ``revealed``."""

    vote: Vote
    revealed: bool


@dataclass(frozen=True)
class Comment:
    """What someone said of an item, with links to evidence in its text."""

    id: int
    item_id: int
    person_id: int
    text: str
    at: datetime


@dataclass(frozen=True)
class Decision:
    """What an item's votes came to; ``last_vote`` is the newest vote that it took into account."""

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
