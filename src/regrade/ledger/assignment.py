"""Which people may work on a queue: those it is assigned to, or everyone whose role allows its question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, exists, insert, select

from regrade.ledger.records import Person, Question, Role
from regrade.ledger.schema import assignment, item, person, queue


def may_answer(role: Role, question: Question) -> bool:
    """Whether a role may answer a question: labelers only label, since other questions show models' predictions."""
    return question is Question.LABEL or role is not Role.LABELER


def assign(connection: Connection, queue_id: int, person_ids: Iterable[int]) -> None:
    """Assign a queue to these people only; no ids make it open to everyone."""
    connection.execute(delete(assignment).where(assignment.c.queue_id == queue_id))
    rows = [{"queue_id": queue_id, "person_id": person_id} for person_id in dict.fromkeys(person_ids)]
    if rows:
        connection.execute(insert(assignment), rows)


def assigned(connection: Connection, queue_id: int) -> Sequence[RowMapping]:
    """The people a queue is assigned to; empty if it is open to everyone."""
    people = select(person).join(assignment, assignment.c.person_id == person.c.id)
    return connection.execute(people.where(assignment.c.queue_id == queue_id).order_by(person.c.id)).mappings().all()


_ASSIGNED = select(assignment.c.queue_id).where(assignment.c.queue_id == queue.c.id)
_ASSIGNED_TO = _ASSIGNED.where(assignment.c.person_id == bindparam("person_id"))
_IS_OPEN_TO = exists(_ASSIGNED_TO) | ~exists(_ASSIGNED)
_QUEUE = select(queue).where(queue.c.id == bindparam("queue_id"), _IS_OPEN_TO)


def queue_for(connection: Connection, by: Person, queue_id: int) -> RowMapping | None:
    """A queue, or None if this person may not work on it."""
    row = connection.execute(_QUEUE, {"queue_id": queue_id, "person_id": by.id}).mappings().first()
    return row if row is not None and may_answer(by.role, Question(row["question"])) else None


_QUEUE_NAMES, _ITEM_NAMES = queue.c.keys(), item.c.keys()
_ITEM = _QUEUE.add_columns(*item.c).outerjoin(
    item, (item.c.id == bindparam("item_id")) & (item.c.queue_id == queue.c.id)
)


def item_for(
    connection: Connection, by: Person, queue_id: int, item_id: int
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """A queue, or None if this person may not work on it, and its item, or None if it has no such item."""
    row = connection.execute(_ITEM, {"queue_id": queue_id, "person_id": by.id, "item_id": item_id}).first()
    if row is None:
        return None, None
    queue_row = dict(zip(_QUEUE_NAMES, row, strict=False))
    item_row = dict(zip(_ITEM_NAMES, row[len(_QUEUE_NAMES) :], strict=True))
    allowed = may_answer(by.role, Question(queue_row["question"]))
    return queue_row if allowed else None, None if item_row["id"] is None else item_row


_OPEN_TO = select(queue).where(_IS_OPEN_TO).order_by(queue.c.id)


def open_to(connection: Connection, by: Person) -> list[RowMapping]:
    """The queues that a person may work on, oldest first."""
    rows = connection.execute(_OPEN_TO, {"person_id": by.id}).mappings()
    return [row for row in rows if may_answer(by.role, Question(row["question"]))]
