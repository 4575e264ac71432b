"""How far a queue has come: who has answered how much, what waits for discussion, what is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, select

from regrade.ledger.current_votes import STANDS
from regrade.ledger.decisions import REOPENED
from regrade.ledger.records import Question, Queue
from regrade.ledger.schema import decision, item, person, report, vote

_IS_REPORTED = exists(select(report.c.id).where(report.c.item_id == item.c.id, report.c.cleared.is_(None)))


@dataclass(frozen=True)
class QueueProgress:
    """Items of a queue: all, those with every vote, those decided, and those to be discussed; and votes by person.

    ``reported`` items have an image that someone could not read. ``newest_vote`` is the number of the newest vote that
    stands, 0 where there is none.
    """

    items: int
    answered: int
    decided: int
    disputed: int
    by_person: dict[str, int]
    reported: int
    newest_vote: int


def progress(connection: Connection, of: Queue) -> QueueProgress:
    """How far a queue has come; labels are everyone's own, and nothing to discuss."""
    mine = item.c.queue_id == of.id

    def count(*where: ColumnElement[bool]) -> int:
        return connection.execute(select(func.count()).select_from(item).where(mine, *where)).scalar_one()

    complete = item.c.missing <= 0
    votes = (
        select(person.c.name, func.count(), func.max(vote.c.id))
        .join(vote, vote.c.person_id == person.c.id)
        .join(item, item.c.id == vote.c.item_id)
        .where(mine, STANDS)
        .group_by(person.c.name)
        .order_by(person.c.name)
    )
    rows = connection.execute(votes).all()
    return QueueProgress(
        count(),
        count(complete),
        count(is_decided()),
        0 if of.question is Question.LABEL else count(complete, ~is_decided()),
        {name: given for name, given, _ in rows},
        count(_IS_REPORTED),
        max((newest for *_, newest in rows), default=0),
    )


def disputed_items(queue_id: int) -> Select[Any]:
    """Items that all have voted on and no one has decided, oldest first."""
    return select(item).where(item.c.queue_id == queue_id, item.c.missing <= 0, ~is_decided()).order_by(item.c.place)


def is_decided(answer: str = "") -> ColumnElement[bool]:
    """Whether an item has a decision that stands, and that says ``answer`` if one is given."""
    later = decision.alias()
    last = ~exists(select(later.c.id).where(later.c.replaces == decision.c.id))
    found = select(decision.c.id).where(decision.c.item_id == item.c.id, decision.c.reached != REOPENED, last)
    return exists(found.where(decision.c.answer == answer) if answer else found)
