"""Who works on which queue: those it was given to, or everyone whose role allows its question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, RowMapping, bindparam, delete, exists, insert, select

from regrade.ledger.records import Person, Question, Queue, Role
from regrade.ledger.schema import assignment, person, queue


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


def open_to(connection: Connection, whom: Person, queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """Those of the queues that someone may work on."""
    mine = assignment.c.person_id == whom.id
    given = set(connection.execute(select(assignment.c.queue_id)).scalars())
    own = set(connection.execute(select(queue.c.id).join(assignment).where(mine)).scalars())
    return tuple(
        one for one in queues if may_answer(whom.role, one.question) and (one.id in own or one.id not in given)
    )
