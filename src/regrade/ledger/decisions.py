"""Decisions on items, made from their votes; a decision is reverted only with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, bindparam, exists, insert, select

from regrade.core import AlreadyStored, InputError
from regrade.ledger.chain import extend_chain
from regrade.ledger.database import snapshot, writing
from regrade.ledger.questions import panel_decision, question_named
from regrade.ledger.queue_order import release_all
from regrade.ledger.records import Decision, Person, Queue, record_of
from regrade.ledger.schema import IS_CURRENT, decision, item, now_in_utc, person
from regrade.ledger.voting import current_votes_on, locked_item, votes_in

REOPENED = "reopened"
"""Value of `Decision.reached` that reverts the previous decision: votes may change again."""

_later = decision.alias("later")
_IS_LAST: ColumnElement[bool] = ~exists(select(_later.c.id).where(_later.c.replaces == decision.c.id))
IS_IN_FORCE: ColumnElement[bool] = _IS_LAST & (decision.c.reached != REOPENED)
"""Whether a decision is the current one on its item."""
_LAST = select(decision).where(decision.c.item_id == bindparam("item_id")).order_by(decision.c.id.desc()).limit(1)


@dataclass(frozen=True)
class PublishedDecision:
    """A current decision on an image and class, who made it, and the ``reasons`` of the votes that agree with it."""

    example: str
    class_id: str
    answer: str
    severity: str | None
    at: datetime
    by: tuple[str, ...]
    reasons: tuple[str, ...]


class Decisions:
    """The decisions in a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def lock(self, item_id: int, by: Person, *, why: str = "", seen: int | None = None) -> Decision:
        """Decide a complete item by the majority of its votes.

        ``seen`` is the id of the newest vote that the person has seen: raises if there is a newer one.
        """
        with writing(self.engine) as connection:
            locked = _lock(connection, item_id, by.id, why=why, seen=seen, now=self._now())
            return record_of(Decision, locked)

    def reopen(self, item_id: int, by: Person, *, why: str) -> Decision:
        """Revert a decision, so that votes may change."""
        with writing(self.engine) as connection:
            return record_of(Decision, _reopen(connection, item_id, by.id, why=why, now=self._now()))

    def current(self, item_id: int) -> Decision | None:
        """The current decision on an item, if any."""
        with self.engine.connect() as connection:
            row = current_decision(connection, item_id)
        return None if row is None else record_of(Decision, row)

    def of_queue(self, of: Queue) -> tuple[PublishedDecision, ...]:
        """The current decisions on a queue's items, in the order in which they were made."""
        with snapshot(self.engine) as connection:
            return _of_queue(connection, of.id)


def current_decision(connection: Connection, item_id: int) -> RowMapping | None:
    """The current decision on an item, or None if it is undecided."""
    last = connection.execute(_LAST, {"item_id": item_id}).mappings().first()
    return None if last is None or last["reached"] == REOPENED else last


def decide_if_unanimous(connection: Connection, item_row: RowMapping, *, now: datetime) -> RowMapping | None:
    """Decide an item after a vote was cast, if its question is for a panel and all needed votes agree.

    ``item_row`` is the item as it was before the vote. The new decision has no link yet.
    """
    if item_row["missing"] > 1 or not question_named(item_row["question"]).decided:
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
    return _linked(connection, _decide(connection, item_row, votes, person_id=None, why="", now=now))


def _is_unanimous(votes: Sequence[RowMapping]) -> bool:
    return len({(vote["answer"], vote["severity"]) for vote in votes}) == 1


def _lock(
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
    return _linked(connection, _decide(connection, item_row, votes, person_id=person_id, why=why, now=now))


def _reopen(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> RowMapping:
    """Revert a decision, with a reason: votes may change again."""
    locked_item(connection, item_id)
    last = current_decision(connection, item_id)
    if last is None:
        raise InputError("this item is not decided")
    if not why.strip():
        raise InputError("give a reason for reverting the decision")
    reopened = _add(
        connection, item_id, answer="", severity=None, reached=REOPENED, person_id=person_id, why=why,
        last_vote=last["last_vote"], at=now,
    )  # fmt: skip
    return _linked(connection, reopened)


def undo_unanimous(connection: Connection, item_id: int, person_id: int, *, why: str, now: datetime) -> None:
    """Revert a decision that was made automatically by unanimous votes; raises if a person made it."""
    last = current_decision(connection, item_id)
    if last is None:
        return
    if last["person_id"] is not None:
        raise AlreadyStored("this item was decided after discussion: reopen it before changing a vote")
    _reopen(connection, item_id, person_id, why=why, now=now)


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
    decided = panel_decision(question_named(item_row["question"]), answers)
    release_all(connection, item_row["id"])
    return _add(
        connection, item_row["id"], answer=decided.answer, severity=decided.severity,
        reached=decided.reached.value,
        person_id=person_id, why=why, last_vote=max(vote["id"] for vote in votes), at=now,
    )  # fmt: skip


def _add(connection: Connection, item_id: int, **values: object) -> RowMapping:
    """Add a decision after the last one on the item, without its link."""
    last = select(decision.c.id).where(decision.c.item_id == item_id).order_by(decision.c.id.desc()).limit(1)
    row = insert(decision).values(item_id=item_id, replaces=connection.execute(last).scalar(), **values)
    return connection.execute(row.returning(*decision.c)).mappings().one()


def _linked(connection: Connection, added: RowMapping) -> RowMapping:
    extend_chain(connection, decision, [added])
    return added


def is_decided(answer: str = "") -> ColumnElement[bool]:
    """Whether an item has a current decision, with this ``answer`` unless it is empty."""
    current = select(decision.c.id).where(decision.c.item_id == item.c.id, IS_IN_FORCE)
    return exists(current.where(decision.c.answer == answer) if answer else current)


def _of_queue(connection: Connection, queue_id: int) -> tuple[PublishedDecision, ...]:
    locker = person.alias("locker")
    decisions = (
        select(decision, item.c.example, item.c["class"], locker.c.name.label("locker"))
        .join(item, item.c.id == decision.c.item_id)
        .join(locker, locker.c.id == decision.c.person_id, isouter=True)
        .where(item.c.queue_id == queue_id, IS_IN_FORCE)
        .order_by(decision.c.id)
    )
    votes: dict[int, list[Any]] = {}
    for row in connection.execute(votes_in(queue_id).where(IS_CURRENT)):
        votes.setdefault(row.item_id, []).append(row)
    rows = connection.execute(decisions).mappings()
    return tuple(_published(row, votes.get(row["item_id"], [])) for row in rows)


def _published(row: RowMapping, votes: list[Any]) -> PublishedDecision:
    by = [*(cast.name for cast in votes), *([row["locker"]] if row["locker"] else [])]
    return PublishedDecision(
        example=row["example"],
        class_id=row["class"],
        answer=row["answer"],
        severity=row["severity"],
        at=row["at"],
        by=tuple(dict.fromkeys(by)),
        reasons=tuple(cast.reason for cast in votes if cast.answer == row["answer"]),
    )
