"""Change how many votes the items of a queue need while people work on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, case, func, insert, select, update

from regrade.core import InputError
from regrade.core.amounts import amount
from regrade.ledger.decisions import decide_complete
from regrade.ledger.queue_order import lock_queue
from regrade.ledger.queue_progress import is_decided
from regrade.ledger.records import Question, Queue
from regrade.ledger.schema import item, overlap_change, queue

MOST_VOTES = 2**31 - 1
"""The maximum number of votes per item: the largest integer in the databases."""


@dataclass(frozen=True)
class OverlapChange:
    """The effect of a new overlap on the items of a queue.

    Of its ``open_items``, which had missing votes, ``completed`` now have enough votes: ``decided`` of them because
    all votes agree; the rest is to be discussed. ``unchanged`` items already had all their votes.
    """

    queue: str
    before: int
    after: int
    open_items: int
    completed: int
    decided: int
    unchanged: int

    def in_words(self) -> str:
        """The change as one line of text."""
        text = f"{self.queue}: items need {amount(self.after, 'vote')} instead of {self.before:,}; of "
        text += f"{amount(self.open_items, 'item')} with missing votes, {self.completed:,} now have enough "
        text += f"({self.decided:,} decided, {self.completed - self.decided:,} to discuss)"
        return f"{text}; {amount(self.unchanged, 'item')} with all votes are unchanged"


def change_overlap(
    connection: Connection, of: Queue, overlap: int, *, person_id: int | None, now: datetime
) -> OverlapChange:
    """Change the number of votes that the incomplete items of a queue need, and all items added later.

    An item that has more votes than ``overlap`` needs the votes it has, so that all of them count as independent.
    """
    if not 1 <= overlap <= MOST_VOTES:
        raise InputError(f"an item needs between 1 and {MOST_VOTES:,} votes, got an overlap of {overlap:,}")
    lock_queue(connection, of.id)
    in_queue, is_open = item.c.queue_id == of.id, item.c.missing > 0
    total, open_items = _count(connection, in_queue), _count(connection, in_queue, is_open)
    before = connection.execute(select(queue.c.overlap).where(queue.c.id == of.id)).scalar_one()
    connection.execute(update(queue).where(queue.c.id == of.id).values(overlap=overlap))
    votes = item.c.needed - item.c.missing
    needed = case((votes > overlap, votes), else_=overlap)
    connection.execute(update(item).where(in_queue, is_open).values(needed=needed, missing=needed - votes))
    completed = open_items - _count(connection, in_queue, is_open)
    decided = _decide_unanimous(connection, of, now=now) if completed and of.question is not Question.LABEL else 0
    row = {"queue_id": of.id, "person_id": person_id, "before": before, "after": overlap, "at": now}
    connection.execute(insert(overlap_change).values(**row))
    return OverlapChange(of.name, before, overlap, open_items, completed, decided, total - open_items)


def _decide_unanimous(connection: Connection, of: Queue, *, now: datetime) -> int:
    """Decide every complete item of a queue on which all votes agree, and return how many were decided."""
    complete = select(item.c.id).where(item.c.queue_id == of.id, item.c.missing <= 0, ~is_decided())
    items = connection.execute(complete.order_by(item.c.place)).scalars().all()
    return sum(decide_complete(connection, item_id, now=now) is not None for item_id in items)


def _count(connection: Connection, *where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(item).where(*where)).scalar_one()
