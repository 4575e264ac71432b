"""Changing how many votes the items of a queue need while people work on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, case, func, insert, select, update

from regrade.core import InputError
from regrade.core.amounts import amount
from regrade.ledger.decisions import decide_complete
from regrade.ledger.overview import is_decided
from regrade.ledger.queue_order import lock_queue
from regrade.ledger.records import Question, Queue
from regrade.ledger.schema import item, overlap_change, queue

MOST_VOTES = 2**31 - 1
"""The most votes that an item can need: the largest whole number of the databases."""


@dataclass(frozen=True)
class OverlapChange:
    """What another overlap does to the items of a queue.

    Of its ``open_items``, those that some votes were missing on, ``completed`` have enough votes now: ``decided`` of
    them at once, since all votes agree, and the others wait for discussion. ``unchanged`` items had all their votes
    before and keep what they have.
    """

    queue: str
    before: int
    after: int
    open_items: int
    completed: int
    decided: int
    unchanged: int

    def in_words(self) -> str:
        """The change in one line."""
        words = f"{self.queue}: items need {amount(self.after, 'vote')} instead of {self.before:,}; of "
        words += f"{amount(self.open_items, 'item')} that votes were missing on, {self.completed:,} have enough now "
        words += f"({self.decided:,} decided, {self.completed - self.decided:,} to discuss)"
        return f"{words}; {amount(self.unchanged, 'item')} with all votes stay as they are"


def change_overlap(
    connection: Connection, of: Queue, overlap: int, *, person_id: int | None, now: datetime
) -> OverlapChange:
    """Let the items of a queue that are not complete yet need another number of votes, and all that are added later.

    An item with more votes than that needs those it has: every vote that was given blind counts as such.
    """
    if not 1 <= overlap <= MOST_VOTES:
        raise InputError(f"an item needs between 1 and {MOST_VOTES:,} votes, got an overlap of {overlap:,}")
    lock_queue(connection, of.id)
    mine, is_open = item.c.queue_id == of.id, item.c.missing > 0
    total, open_items = (_count(connection, mine, *where) for where in ((), (is_open,)))
    before = connection.execute(select(queue.c.overlap).where(queue.c.id == of.id)).scalar_one()
    connection.execute(update(queue).where(queue.c.id == of.id).values(overlap=overlap))
    votes = item.c.needed - item.c.missing
    needed = case((votes > overlap, votes), else_=overlap)
    connection.execute(update(item).where(mine, is_open).values(needed=needed, missing=needed - votes))
    completed = open_items - _count(connection, mine, is_open)
    decided = _decide_unanimous(connection, of, now=now) if completed and of.question is not Question.LABEL else 0
    row = {"queue_id": of.id, "person_id": person_id, "before": before, "after": overlap, "at": now}
    connection.execute(insert(overlap_change).values(**row))
    return OverlapChange(of.name, before, overlap, open_items, completed, decided, total - open_items)


def _decide_unanimous(connection: Connection, of: Queue, *, now: datetime) -> int:
    """Decide every complete item of a queue on which all votes agree, and count them."""
    complete = select(item.c.id).where(item.c.queue_id == of.id, item.c.missing <= 0, ~is_decided())
    items = connection.execute(complete.order_by(item.c.place)).scalars().all()
    return sum(decide_complete(connection, item_id, now=now) is not None for item_id in items)


def _count(connection: Connection, *where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(item).where(*where)).scalar_one()
