"""Decisions: what an item's votes come to, when, and by whom; taken back only with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, insert, select

from regrade.core import AlreadyStored, InputError, Severity
from regrade.core.panel import Answer, Reached, Verdict, verdict
from regrade.ledger.records import Question
from regrade.ledger.schema import decision, queue
from regrade.ledger.voting import locked_item, standing_votes

REOPENED = "reopened"
"""How a decision reads that takes back the one before it: the votes may change again."""


def decided(connection: Connection, item_id: int) -> RowMapping | None:
    """The decision on an item that stands, if there is one."""
    last = select(decision).where(decision.c.item_id == item_id).order_by(decision.c.id.desc()).limit(1)
    found = connection.execute(last).mappings().first()
    return None if found is None or found["reached"] == REOPENED else found


def decide_if_unanimous(connection: Connection, item_id: int, *, now: datetime) -> RowMapping | None:
    """Decide an item that no vote is missing for, if all say the same of it and it is a question for a panel."""
    asked = locked_item(connection, item_id)
    if decided(connection, item_id) is not None or question_of(connection, asked) is Question.LABEL:
        return None
    votes = standing_votes(connection, item_id)
    if asked["missing"] > 0 or len({(one["answer"], one["severity"]) for one in votes}) != 1:
        return None
    return _decide(connection, asked, votes, person_id=None, why="", now=now)


def lock(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> RowMapping:
    """Decide an item by its votes as they stand after discussion."""
    asked = locked_item(connection, item_id)
    if decided(connection, item_id) is not None:
        raise AlreadyStored("this item is decided already")
    if asked["missing"] > 0:
        raise InputError(f"votes are missing on this item ({asked['missing']}): it cannot be decided yet")
    return _decide(connection, asked, standing_votes(connection, item_id), person_id=person_id, why=why, now=now)


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


def _decide(
    connection: Connection,
    asked: RowMapping,
    votes: Sequence[RowMapping],
    *,
    person_id: int | None,
    why: str,
    now: datetime,
) -> RowMapping:
    found, severity = _verdicts(question_of(connection, asked), votes)
    return _add(
        connection, asked["id"], answer=found.answer, severity=severity, reached=found.reached.value,
        person_id=person_id, why=why, last_vote=max(one["id"] for one in votes), at=now,
    )  # fmt: skip


def question_of(connection: Connection, asked: RowMapping) -> Question:
    """What is asked of an item."""
    return Question(connection.execute(select(queue.c.question).where(queue.c.id == asked["queue_id"])).scalar_one())


def _verdicts(question: Question, votes: Sequence[RowMapping]) -> tuple[Verdict, str | None]:
    """A tie between answers is unclear, one between severities borderline; between kinds of mistakes it raises."""
    answers = [one["answer"] for one in votes]
    if question is Question.JUDGE:
        return verdict(answers, tied=Answer.UNCLEAR.value), None
    kind = verdict(answers, tied=None)
    severity = verdict([one["severity"] or "" for one in votes], tied=Severity.BORDERLINE.value)
    alike = kind.reached is severity.reached is Reached.UNANIMOUSLY
    return Verdict(kind.answer, Reached.UNANIMOUSLY if alike else Reached.BY_MAJORITY), severity.answer or None


def _add(connection: Connection, item_id: int, **values: object) -> RowMapping:
    """Add a decision after the last one on the item."""
    last = select(decision.c.id).where(decision.c.item_id == item_id).order_by(decision.c.id.desc()).limit(1)
    row = insert(decision).values(item_id=item_id, replaces=connection.execute(last).scalar(), **values)
    return connection.execute(row.returning(*decision.c)).mappings().one()
