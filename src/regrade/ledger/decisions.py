"""Decisions on items, made from their votes; a decision is reverted only with a reason."""

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
from regrade.ledger.voting import current_votes_on, locked_item

REOPENED = "reopened"
"""Value of `Decision.reached` that reverts the previous decision: votes may change again."""

_LAST = select(decision).where(decision.c.item_id == bindparam("item_id")).order_by(decision.c.id.desc()).limit(1)


def current_decision(connection: Connection, item_id: int) -> RowMapping | None:
    """The current decision on an item, or None if it is undecided."""
    last = connection.execute(_LAST, {"item_id": item_id}).mappings().first()
    return None if last is None or last["reached"] == REOPENED else last


def decide_if_unanimous(connection: Connection, item_row: RowMapping, *, now: datetime) -> RowMapping | None:
    """Decide an item after a vote was cast, if all needed votes are there and agree; labels are never decided.

    ``item_row`` is the item as it was before the vote.
    """
    if item_row["missing"] > 1 or Question(item_row["question"]) is Question.LABEL:
        return None
    votes = current_votes_on(connection, item_row["id"])
    if not _is_unanimous(votes):
        return None
    item_row = locked_item(connection, item_row["id"])
    if item_row["missing"] > 0 or current_decision(connection, item_row["id"]) is not None:
        return None
    return _decide(connection, item_row, votes, person_id=None, why="", now=now)


def decide_complete(connection: Connection, item_id: int, *, now: datetime) -> RowMapping | None:
    """Decide an item that has become complete without a new vote, if all its votes agree."""
    item_row, votes = locked_item(connection, item_id), current_votes_on(connection, item_id)
    if item_row["missing"] > 0 or not _is_unanimous(votes):
        return None
    return _decide(connection, item_row, votes, person_id=None, why="", now=now)


def _is_unanimous(votes: Sequence[RowMapping]) -> bool:
    return len({(vote["answer"], vote["severity"]) for vote in votes}) == 1


def lock(
    connection: Connection, item_id: int, person_id: int, *, why: str, seen: int | None, now: datetime
) -> RowMapping:
    """Decide an item by its votes after discussion; raises if a vote is newer than ``seen``."""
    item_row = locked_item(connection, item_id)
    if current_decision(connection, item_id) is not None:
        raise AlreadyStored("this item is decided already")
    if item_row["missing"] > 0:
        raise InputError(f"votes are missing on this item ({item_row['missing']}): it cannot be decided yet")
    votes = current_votes_on(connection, item_id)
    if seen is not None and seen != max(vote["id"] for vote in votes):
        raise AlreadyStored("a vote on this item has changed in the meantime: look at the votes again")
    return _decide(connection, item_row, votes, person_id=person_id, why=why, now=now)


def reopen(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> RowMapping:
    """Revert a decision, with a reason: votes may change again."""
    locked_item(connection, item_id)
    last = current_decision(connection, item_id)
    if last is None:
        raise InputError("this item is not decided")
    if not why.strip():
        raise InputError("give a reason for reverting the decision")
    return _add(
        connection, item_id, answer="", severity=None, reached=REOPENED, person_id=person_id, why=why,
        last_vote=last["last_vote"], at=now,
    )  # fmt: skip


def undo_unanimous(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> None:
    """Revert a decision that was made automatically by unanimous votes; raises if a person made it."""
    last = current_decision(connection, item_id)
    if last is None:
        return
    if last["person_id"] is not None:
        raise AlreadyStored("this item was decided after discussion: reopen it before changing a vote")
    reopen(connection, item_id, person_id, why=why, now=now)


def _decide(
    connection: Connection,
    item_row: RowMapping,
    votes: Sequence[RowMapping],
    *,
    person_id: int | None,
    why: str,
    now: datetime,
) -> RowMapping:
    answers = [(vote["answer"], vote["severity"]) for vote in votes]
    outcome, severity = panel_decision(Question(item_row["question"]), answers)
    release_all(connection, item_row["id"])
    return _add(
        connection, item_row["id"], answer=outcome.answer, severity=severity, reached=outcome.reached.value,
        person_id=person_id, why=why, last_vote=max(vote["id"] for vote in votes), at=now,
    )  # fmt: skip


def panel_decision(question: Question, votes: Sequence[tuple[str, str | None]]) -> tuple[Verdict, str | None]:
    """The decision and severity that follow from votes, given as pairs of answer and severity.

    A tie between answers is decided as unclear, a tie between severities as borderline; a tie between mistake
    categories raises. Votes for "no mistake" do not count for the severity.
    """
    answers = [answer for answer, _ in votes]
    if question is Question.JUDGE:
        return verdict(answers, tied=Answer.UNCLEAR.value), None
    kind = verdict(answers, tied=None)
    if kind.answer == NO_MISTAKE:
        return kind, None
    severities = [severity or "" for answer, severity in votes if answer != NO_MISTAKE]
    severity = verdict(severities, tied=Severity.BORDERLINE.value)
    unanimous = kind.reached is severity.reached is Reached.UNANIMOUSLY
    return Verdict(kind.answer, Reached.UNANIMOUSLY if unanimous else Reached.BY_MAJORITY), severity.answer or None


def _add(connection: Connection, item_id: int, **values: object) -> RowMapping:
    """Add a decision after the last one on the item."""
    last = select(decision.c.id).where(decision.c.item_id == item_id).order_by(decision.c.id.desc()).limit(1)
    row = insert(decision).values(item_id=item_id, replaces=connection.execute(last).scalar(), **values)
    added = connection.execute(row.returning(*decision.c)).mappings().one()
    extend_chain(connection, decision, [added])
    return added
