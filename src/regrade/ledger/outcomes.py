"""What came of a queue: its decisions that stand with those who made them, and every person's last answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, exists, select

from regrade.ledger.current_votes import STANDS
from regrade.ledger.decisions import REOPENED
from regrade.ledger.schema import decision, item, person, vote


@dataclass(frozen=True)
class PublishedDecision:
    """A decision that stands: of which image and class, by whom, and the ``reasons`` of those who say the same."""

    example: str
    class_id: str
    answer: str
    severity: str | None
    at: datetime
    by: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class PersonsAnswer:
    """What someone last said of a image; ``seconds`` are all that they spent on it, none if that is not known."""

    person: str
    example: str
    answer: str
    seconds: float | None
    at: datetime


def outcomes(connection: Connection, queue_id: int) -> tuple[PublishedDecision, ...]:
    """The decisions of a queue that stand, in the order in which they were made."""
    locker = person.alias("locker")
    later = decision.alias("later")
    last = ~exists(select(later.c.id).where(later.c.replaces == decision.c.id))
    found = (
        select(decision, item.c.example, item.c["class"], locker.c.name.label("locker"))
        .join(item, item.c.id == decision.c.item_id)
        .join(locker, locker.c.id == decision.c.person_id, isouter=True)
        .where(item.c.queue_id == queue_id, decision.c.reached != REOPENED, last)
        .order_by(decision.c.id)
    )
    votes: dict[int, list[Any]] = {}
    for row in connection.execute(_votes(queue_id).where(STANDS)):
        votes.setdefault(row.item_id, []).append(row)
    return tuple(_outcome(row, votes.get(row["item_id"], [])) for row in connection.execute(found).mappings())


def _outcome(row: RowMapping, votes: list[Any]) -> PublishedDecision:
    by = [*(one.name for one in votes), *([row["locker"]] if row["locker"] else [])]
    reasons = tuple(one.reason for one in votes if one.answer == row["answer"])
    said = (row["example"], row["class"], row["answer"], row["severity"], row["at"])
    return PublishedDecision(*said, tuple(dict.fromkeys(by)), reasons)


def last_answers(connection: Connection, queue_id: int) -> tuple[PersonsAnswer, ...]:
    """Everyone's last answer to each item of a queue, those taken back left out, oldest first."""
    mine = select(vote.c.id).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    standing = set(connection.execute(mine.where(STANDS)).scalars())
    spent: dict[tuple[int, str], float] = {}
    found = []
    for row in connection.execute(_votes(queue_id)):
        place = row.item_id, row.name
        if row.seconds is not None:
            spent[place] = spent.get(place, 0.0) + row.seconds
        if row.id in standing:
            found.append(PersonsAnswer(row.name, row.example, row.answer, spent.get(place), row.at))
    return tuple(found)


def _votes(queue_id: int) -> Select[Any]:
    return (
        select(vote, item.c.example, person.c.name)
        .join(item, item.c.id == vote.c.item_id)
        .join(person, person.c.id == vote.c.person_id)
        .where(item.c.queue_id == queue_id)
        .order_by(vote.c.id)
    )
