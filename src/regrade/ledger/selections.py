"""Selections: the answers to the grids of a build, which task is given to a worker, and the answers a task needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Engine, Integer, Select, bindparam, case, func, select, update

from regrade.ledger.database import snapshot, writing
from regrade.ledger.queue_order import lock_queue
from regrade.ledger.records import Item, Person, Queue, record_of
from regrade.ledger.schema import IS_CURRENT, item, lease, person, skip, vote

_COLUMNS = (vote.c.id, vote.c.item_id, item.c.example, person.c.name, vote.c.answer, vote.c.seconds, vote.c.at)
_VOTES = item.c.needed - item.c.missing
_NEEDED: BindParameter[int] = bindparam("new_needed", type_=Integer)
_REQUIRE = (
    update(item)
    .where(item.c.id == bindparam("on_item"))
    .values(
        missing=case((_VOTES > _NEEDED, 0), else_=_NEEDED - _VOTES),
        needed=case((_VOTES > _NEEDED, _VOTES), else_=_NEEDED),
    )
)


@dataclass(frozen=True)
class GridSelection:
    """A worker's answer to a task: one digit per tile, 1 if selected, in the order of the stored task."""

    id: int
    item_id: int
    task: str
    worker: str
    answer: str
    seconds: float | None
    at: datetime


class Selections:
    """The answers to grids in a ledger."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def of_worker(self, queues: Sequence[Queue], worker: Person) -> tuple[GridSelection, ...]:
        """A worker's answers in some queues, oldest first."""
        return self._read(item.c.queue_id.in_([queue.id for queue in queues]), vote.c.person_id == worker.id)

    def since(self, of: Queue, vote_id: int) -> tuple[GridSelection, ...]:
        """The answers in a queue that are newer than a vote, oldest first."""
        return self._read(item.c.queue_id == of.id, vote.c.id > vote_id)

    def tasks(self, of: Queue) -> tuple[Item, ...]:
        """All items of a queue, in its order."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(item).where(item.c.queue_id == of.id).order_by(item.c.place)).mappings()
            return tuple(record_of(Item, row) for row in rows)

    def is_given(self, item_id: int, worker: Person) -> bool:
        """Whether a task was given to a worker, who has neither answered nor returned it; it may be overdue."""
        given = select(lease.c.item_id).where(lease.c.item_id == item_id, lease.c.person_id == worker.id)
        with self.engine.connect() as connection:
            return connection.execute(given).first() is not None

    def returned(self, of: Queue) -> dict[int, int]:
        """How often each task of a queue was returned, by the id of its item."""
        times = select(skip.c.item_id, func.count()).where(skip.c.queue_id == of.id).group_by(skip.c.item_id)
        with self.engine.connect() as connection:
            return {item_id: count for item_id, count in connection.execute(times)}

    def newest(self, of: Queue) -> int:
        """The id of the newest answer in a queue, 0 if there is none."""
        votes = select(func.coalesce(func.max(vote.c.id), 0)).join(item, item.c.id == vote.c.item_id)
        with self.engine.connect() as connection:
            return int(connection.execute(votes.where(item.c.queue_id == of.id)).scalar_one())

    def require(self, of: Queue, needed: Mapping[int, int]) -> int:
        """Set how many answers tasks need, by the id of their item, and return how many changed.

        A task that has more answers needs those that it has.
        """
        with writing(self.engine) as connection:
            lock_queue(connection, of.id)
            present = connection.execute(select(item.c.id, item.c.needed).where(item.c.queue_id == of.id)).all()
            changed = [
                {"on_item": item_id, "new_needed": max(needed[item_id], 0)}
                for item_id, before in present
                if item_id in needed and needed[item_id] != before
            ]
            if changed:
                connection.execute(_REQUIRE, changed)
        return len(changed)

    def _read(self, *where: ColumnElement[bool]) -> tuple[GridSelection, ...]:
        with snapshot(self.engine) as connection:
            return tuple(GridSelection(*row) for row in connection.execute(_selected(*where)))


def _selected(*where: ColumnElement[bool]) -> Select[Any]:
    votes = select(*_COLUMNS).join(item, item.c.id == vote.c.item_id).join(person, person.c.id == vote.c.person_id)
    return votes.where(IS_CURRENT, *where).order_by(vote.c.id)
