"""The reveal: when a person may have seen the other votes on an item, after which a change needs a reason."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, RowMapping, bindparam, select

from regrade.ledger.records import Mode, Person, Question, Role
from regrade.ledger.schema import item, queue, vote

_VOTES = (
    select(vote.c.person_id, vote.c.answer, item.c.needed, queue.c.question, queue.c.mode)
    .join(item, item.c.id == vote.c.item_id)
    .join(queue, queue.c.id == item.c.queue_id)
    .where(vote.c.item_id == bindparam("item_id"))
    .order_by(vote.c.id)
)


def is_revealed(connection: Connection, item_id: int, person: Person) -> bool:
    """Whether a person may have seen another person's vote on an item, at any time until now."""
    rows = connection.execute(_VOTES, {"item_id": item_id}).all()
    if not rows or not shows_votes(Question(rows[0].question), Mode(rows[0].mode), person.role):
        return False
    return was_complete([(row.person_id, row.answer) for row in rows], needed=rows[0].needed, person_id=person.id)


def reveals(item_row: RowMapping, votes: Iterable[RowMapping], person: Person) -> bool:
    """Whether a person may have seen another vote on an item; ``votes`` are all votes ever cast on it, oldest first."""
    if not shows_votes(Question(item_row["queue question"]), Mode(item_row["queue mode"]), person.role):
        return False
    cast = [(vote["person_id"], vote["answer"]) for vote in votes]
    return was_complete(cast, needed=item_row["needed"], person_id=person.id)


def shows_votes(question: Question, mode: Mode, role: Role) -> bool:
    """Whether a role can see the votes on a complete item: not labelers on labels, and no one in training."""
    return mode is not Mode.TRAINING and (question is not Question.LABEL or role is not Role.LABELER)


def was_complete(votes: Iterable[tuple[int, str | None]], *, needed: int, person_id: int) -> bool:
    """Whether an item ever had all the votes it needs at one time, with one by another person among them.

    ``votes`` are all votes ever cast on the item, oldest first, as pairs of voter and answer; an answer of None is a
    retraction.

    >>> was_complete([(1, "correct"), (2, "wrong"), (2, None)], needed=2, person_id=1)
    True
    >>> was_complete([(1, "correct")], needed=1, person_id=1)
    False
    """
    voters: set[int] = set()
    for voter, answer in votes:
        if answer is None:
            voters.discard(voter)
        else:
            voters.add(voter)
        if len(voters) >= needed and voters - {person_id}:
            return True
    return False
