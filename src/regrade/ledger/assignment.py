"""Who works on which queue: those it was given to, or everyone whose role allows its question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, exists, insert, select

from regrade.ledger.records import Person, Question, Role
from regrade.ledger.schema import assignment, item, person, queue


def may_answer(role: Role, question: Question) -> bool:
    """Whether a role may answer a question: labelers only label, as all else shows them models' answers."""
    return question is Question.LABEL or role is not Role.LABELER


def assign(connection: Connection, queue_id: int, person_ids: Iterable[int]) -> None:
    """Give a queue to these people and no one else; to everyone again where there are none."""
    connection.execute(delete(assignment).where(assignment.c.queue_id == queue_id))
    rows = [{"queue_id": queue_id, "person_id": number} for number in dict.fromkeys(person_ids)]
    if rows:
        connection.execute(insert(assignment), rows)


def assigned(connection: Connection, queue_id: int) -> Sequence[RowMapping]:
    """The people a queue was given to, none where it is for everyone."""
    found = select(person).join(assignment, assignment.c.person_id == person.c.id)
    return connection.execute(found.where(assignment.c.queue_id == queue_id).order_by(person.c.id)).mappings().all()


_GIVEN = select(assignment.c.queue_id).where(assignment.c.queue_id == queue.c.id)
_MINE = _GIVEN.where(assignment.c.person_id == bindparam("whose"))
_FOR = select(queue).where(queue.c.id == bindparam("wanted"), exists(_MINE) | ~exists(_GIVEN))


def queue_for(connection: Connection, whom: Person, queue_id: int) -> RowMapping | None:
    """A queue, if someone may work on it."""
    found = connection.execute(_FOR, {"wanted": queue_id, "whose": whom.id}).mappings().first()
    return found if found is not None and may_answer(whom.role, Question(found["question"])) else None


_QUEUE_NAMES, _ITEM_NAMES = queue.c.keys(), item.c.keys()
_ITEM_FOR = _FOR.add_columns(*item.c).outerjoin(
    item, (item.c.id == bindparam("asked")) & (item.c.queue_id == queue.c.id)
)


def item_for(
    connection: Connection, whom: Person, queue_id: int, item_id: int
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """A queue, if someone may work on it, and one of its items, if it has it."""
    row = connection.execute(_ITEM_FOR, {"wanted": queue_id, "whose": whom.id, "asked": item_id}).first()
    if row is None:
        return None, None
    queue_row = dict(zip(_QUEUE_NAMES, row, strict=False))
    item_row = dict(zip(_ITEM_NAMES, row[len(_QUEUE_NAMES) :], strict=True))
    allowed = may_answer(whom.role, Question(queue_row["question"]))
    return queue_row if allowed else None, None if item_row["id"] is None else item_row


_OPEN_TO = select(queue).where(exists(_MINE) | ~exists(_GIVEN)).order_by(queue.c.id)


def open_to(connection: Connection, whom: Person) -> list[RowMapping]:
    """The queues that someone may work on, oldest first."""
    rows = connection.execute(_OPEN_TO, {"whose": whom.id}).mappings()
    return [row for row in rows if may_answer(whom.role, Question(row["question"]))]
