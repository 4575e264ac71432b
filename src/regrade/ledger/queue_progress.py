"""The progress of a queue, in total and for one person."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from sqlalchemy import ColumnElement, Connection, exists, func, select

from regrade.ledger.decisions import REOPENED
from regrade.ledger.queue_order import ANSWERED, REPORTED
from regrade.ledger.records import Question, Queue
from regrade.ledger.schema import IS_CURRENT, decision, item, person, report, vote

_IS_REPORTED = exists(select(report.c.id).where(report.c.item_id == item.c.id, report.c.cleared.is_(None)))


@dataclass(frozen=True)
class QueueProgress:
    """The number of items of a queue: all, complete, decided and disputed; and the number of votes by person.

    ``reported`` items have an image that was reported as unreadable. ``newest_vote`` is the id of the newest current
    vote, 0 if there is none.
    """

    items: int
    answered: int
    decided: int
    disputed: int
    by_person: dict[str, int]
    reported: int
    newest_vote: int


def progress(connection: Connection, of: Queue) -> QueueProgress:
    """The progress of a queue; label queues have no disputed items."""
    in_queue = item.c.queue_id == of.id

    def count(*where: ColumnElement[bool]) -> int:
        return connection.execute(select(func.count()).select_from(item).where(in_queue, *where)).scalar_one()

    complete = item.c.missing <= 0
    votes = (
        select(person.c.name, func.count(), func.max(vote.c.id))
        .join(vote, vote.c.person_id == person.c.id)
        .join(item, item.c.id == vote.c.item_id)
        .where(in_queue, IS_CURRENT)
        .group_by(person.c.name)
        .order_by(person.c.name)
    )
    rows = connection.execute(votes).all()
    return QueueProgress(
        count(),
        count(complete),
        count(is_decided()),
        0 if of.question is Question.LABEL else count(complete, ~is_decided()),
        {name: votes_cast for name, votes_cast, _ in rows},
        count(_IS_REPORTED),
        max((newest for *_, newest in rows), default=0),
    )


def is_decided(answer: str = "") -> ColumnElement[bool]:
    """Whether an item has a current decision, with this ``answer`` unless it is empty."""
    later = decision.alias()
    last = ~exists(select(later.c.id).where(later.c.replaces == decision.c.id))
    current = select(decision.c.id).where(decision.c.item_id == item.c.id, decision.c.reached != REOPENED, last)
    return exists(current.where(decision.c.answer == answer) if answer else current)


_RECENT_VOTES = 50  # the number of newest votes that the pace is computed from


@dataclass(frozen=True)
class Pace:
    """The number of items left for a person, and their median seconds per item, or None if unknown."""

    left: int
    seconds: float | None

    @property
    def time_left(self) -> float | None:
        """The expected seconds for the items that are left."""
        return None if self.seconds is None else self.left * self.seconds


def pace(connection: Connection, queue_id: int, person_id: int) -> Pace:
    """A person's pace in a queue, from the median of their recent votes."""
    count = select(func.count()).select_from(item)
    open_items = count.where(item.c.queue_id == queue_id, item.c.missing > 0, ~ANSWERED, ~REPORTED)
    left = connection.execute(open_items, {"reviewer_id": person_id}).scalar_one()
    votes = select(vote.c.seconds).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    timed = votes.where(vote.c.person_id == person_id, IS_CURRENT, vote.c.seconds.isnot(None))
    seconds = connection.execute(timed.order_by(vote.c.id.desc()).limit(_RECENT_VOTES)).scalars().all()
    return Pace(left, median(seconds) if seconds else None)
