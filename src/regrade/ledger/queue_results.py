"""The results of a queue: its current decisions with the people who made them, and each person's last answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, exists, select

from regrade.ledger.decisions import REOPENED
from regrade.ledger.schema import IS_CURRENT, decision, item, person, vote


@dataclass(frozen=True)
class PublishedDecision:
    """A current decision on an image and class, who made it, and the ``reasons`` of the votes that agree with it."""

    example: str
    class_id: str
    answer: str
    severity: str | None
    at: datetime
    by: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class PersonsAnswer:
    """A person's last answer about an image; ``seconds`` is the total time they spent on it, or None if unknown."""

    person: str
    example: str
    answer: str
    seconds: float | None
    at: datetime


def current_decisions(connection: Connection, queue_id: int) -> tuple[PublishedDecision, ...]:
    """The current decisions on a queue's items, in the order in which they were made."""
    locker = person.alias("locker")
    later = decision.alias("later")
    last = ~exists(select(later.c.id).where(later.c.replaces == decision.c.id))
    decisions = (
        select(decision, item.c.example, item.c["class"], locker.c.name.label("locker"))
        .join(item, item.c.id == decision.c.item_id)
        .join(locker, locker.c.id == decision.c.person_id, isouter=True)
        .where(item.c.queue_id == queue_id, decision.c.reached != REOPENED, last)
        .order_by(decision.c.id)
    )
    votes: dict[int, list[Any]] = {}
    for row in connection.execute(_votes(queue_id).where(IS_CURRENT)):
        votes.setdefault(row.item_id, []).append(row)
    rows = connection.execute(decisions).mappings()
    return tuple(_published(row, votes.get(row["item_id"], [])) for row in rows)


def _published(row: RowMapping, votes: list[Any]) -> PublishedDecision:
    by = [*(cast.name for cast in votes), *([row["locker"]] if row["locker"] else [])]
    return PublishedDecision(
        example=row["example"],
        class_id=row["class"],
        answer=row["answer"],
        severity=row["severity"],
        at=row["at"],
        by=tuple(dict.fromkeys(by)),
        reasons=tuple(cast.reason for cast in votes if cast.answer == row["answer"]),
    )


def last_answers(connection: Connection, queue_id: int) -> tuple[PersonsAnswer, ...]:
    """Each person's last answer to each item of a queue, without retracted ones, oldest first."""
    vote_ids = select(vote.c.id).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    current = set(connection.execute(vote_ids.where(IS_CURRENT)).scalars())
    seconds: dict[tuple[int, str], float] = {}
    answers = []
    for row in connection.execute(_votes(queue_id)):
        item_and_person = row.item_id, row.name
        if row.seconds is not None:
            seconds[item_and_person] = seconds.get(item_and_person, 0.0) + row.seconds
        if row.id in current:
            answers.append(PersonsAnswer(row.name, row.example, row.answer, seconds.get(item_and_person), row.at))
    return tuple(answers)


def _votes(queue_id: int) -> Select[Any]:
    return (
        select(vote, item.c.example, person.c.name)
        .join(item, item.c.id == vote.c.item_id)
        .join(person, person.c.id == vote.c.person_id)
        .where(item.c.queue_id == queue_id)
        .order_by(vote.c.id)
    )
