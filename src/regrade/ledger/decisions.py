"""Decisions: what an item's votes come to, when, and by whom; taken back only with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, bindparam, insert, select

from regrade.core import AlreadyStored, InputError, Severity
from regrade.core.panel import NO_MISTAKE, Answer, Reached, Verdict, verdict
from regrade.ledger.chain import extend_chain
from regrade.ledger.queue_order import release_all
from regrade.ledger.records import Question
from regrade.ledger.schema import decision
from regrade.ledger.voting import locked_item, standing_votes

REOPENED = "reopened"
"""How a decision reads that takes back the one before it: the votes may change again."""


_LAST = select(decision).where(decision.c.item_id == bindparam("asked")).order_by(decision.c.id.desc()).limit(1)


def decided(connection: Connection, item_id: int) -> RowMapping | None:
    """The decision on an item that stands, if there is one."""
    found = connection.execute(_LAST, {"asked": item_id}).mappings().first()
    return None if found is None or found["reached"] == REOPENED else found


def decide_if_unanimous(connection: Connection, asked: RowMapping, *, now: datetime) -> RowMapping | None:
    """Decide an item with the vote that was just cast on it, if no vote is missing, all say the same, and it is a
    question for a panel; ``asked`` is the item as it was before.
    """
    if asked["missing"] > 1 or Question(asked["question"]) is Question.LABEL:
        return None
    votes = standing_votes(connection, asked["id"])
    if len({(one["answer"], one["severity"]) for one in votes}) != 1:
        return None
    asked = locked_item(connection, asked["id"])
    if asked["missing"] > 0 or decided(connection, asked["id"]) is not None:
        return None
    return _decide(connection, asked, votes, person_id=None, why="", now=now)


def decide_complete(connection: Connection, item_id: int, *, now: datetime) -> RowMapping | None:
    """Decide an item that has become complete without a new vote, if all its votes say the same."""
    asked, votes = locked_item(connection, item_id), standing_votes(connection, item_id)
    if asked["missing"] > 0 or len({(vote["answer"], vote["severity"]) for vote in votes}) != 1:
        return None
    return _decide(connection, asked, votes, person_id=None, why="", now=now)


def lock(
    connection: Connection, item_id: int, person_id: int, *, why: str, seen: int | None, now: datetime
) -> RowMapping:
    """Decide an item by its votes as they stand after discussion; where one is newer than was ``seen``, it raises."""
    asked = locked_item(connection, item_id)
    if decided(connection, item_id) is not None:
        raise AlreadyStored("this item is decided already")
    if asked["missing"] > 0:
        raise InputError(f"votes are missing on this item ({asked['missing']}): it cannot be decided yet")
    votes = standing_votes(connection, item_id)
    if seen is not None and seen != max(one["id"] for one in votes):
        raise AlreadyStored("someone has changed their vote since: look at it once more")
    return _decide(connection, asked, votes, person_id=person_id, why=why, now=now)


def reopen(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> RowMapping:
    """Take a decision back, with a reason: votes may change again."""
    locked_item(connection, item_id)
    last = decided(connection, item_id)
    if last is None:
        raise InputError("this item is not decided")
    if not why.strip():
        raise InputError("say why the decision is taken back")
    return _add(
        connection, item_id, answer="", severity=None, reached=REOPENED, person_id=person_id, why=why,
        last_vote=last["last_vote"], at=now,
    )  # fmt: skip


def undo_unanimous(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> None:
    """Take back a decision that came of itself when all voted alike; one that someone locked raises."""
    last = decided(connection, item_id)
    if last is None:
        return
    if last["person_id"] is not None:
        raise AlreadyStored("this item was decided after discussion: it must be opened again before a vote can change")
    reopen(connection, item_id, person_id, why=why, now=now)


def _decide(
    connection: Connection,
    asked: RowMapping,
    votes: Sequence[RowMapping],
    *,
    person_id: int | None,
    why: str,
    now: datetime,
) -> RowMapping:
    found, severity = verdict_of(Question(asked["question"]), [(one["answer"], one["severity"]) for one in votes])
    release_all(connection, asked["id"])
    return _add(
        connection, asked["id"], answer=found.answer, severity=severity, reached=found.reached.value,
        person_id=person_id, why=why, last_vote=max(one["id"] for one in votes), at=now,
    )  # fmt: skip


def verdict_of(question: Question, said: Sequence[tuple[str, str | None]]) -> tuple[Verdict, str | None]:
    """What answers, each with a severity or none, come to, and how grave that is.

    A tie between answers is unclear, one between severities borderline; between kinds of mistakes it raises. Who says
    that it is no mistake has no say in how grave it is.
    """
    answers = [answer for answer, _ in said]
    if question is Question.JUDGE:
        return verdict(answers, tied=Answer.UNCLEAR.value), None
    kind = verdict(answers, tied=None)
    if kind.answer == NO_MISTAKE:
        return kind, None
    graded = [severity or "" for answer, severity in said if answer != NO_MISTAKE]
    severity = verdict(graded, tied=Severity.BORDERLINE.value)
    alike = kind.reached is severity.reached is Reached.UNANIMOUSLY
    return Verdict(kind.answer, Reached.UNANIMOUSLY if alike else Reached.BY_MAJORITY), severity.answer or None


def _add(connection: Connection, item_id: int, **values: object) -> RowMapping:
    """Add a decision after the last one on the item."""
    last = select(decision.c.id).where(decision.c.item_id == item_id).order_by(decision.c.id.desc()).limit(1)
    row = insert(decision).values(item_id=item_id, replaces=connection.execute(last).scalar(), **values)
    added = connection.execute(row.returning(*decision.c)).mappings().one()
    extend_chain(connection, decision, [added])
    return added
