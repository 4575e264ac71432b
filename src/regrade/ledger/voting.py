"""Votes: added one after another, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from regrade.core import AlreadyStored, InputError, ReasonNeeded, UnknownName
from regrade.ledger.chain import extend_chain
from regrade.ledger.queueing import release
from regrade.ledger.records import Ballot, Person
from regrade.ledger.reveal import is_revealed
from regrade.ledger.schema import item, queue, vote
from regrade.ledger.standing import IS_LAST, STANDS

_OF_KEY = select(vote).where(vote.c.key == bindparam("ballot"))
_MINE = select(vote).where(vote.c.item_id == bindparam("asked"), vote.c.person_id == bindparam("whose"), IS_LAST)
_ADD = insert(vote).returning(*vote.c)
_COUNT = update(item).where(item.c.id == bindparam("asked")).values(missing=item.c.missing + bindparam("change"))
_STANDING = select(vote).where(vote.c.item_id == bindparam("asked"), STANDS).order_by(vote.c.id)
_ASKED = select(item, queue.c.question).join(queue, queue.c.id == item.c.queue_id)
_LOCKED = _ASKED.where(item.c.id == bindparam("asked")).with_for_update(of=item)


UNDONE = "undone at once"
"""Why a vote was taken back for which no reason was asked: the others' votes could not be seen yet."""


def counted(connection: Connection, asked: RowMapping, person_id: int, ballot: Ballot) -> RowMapping | None:
    """The vote that a ballot was counted as before, if it was; one of another person or item raises."""
    known = connection.execute(_OF_KEY, {"ballot": ballot.key}).mappings().first()
    if known is None:
        return None
    if (known["item_id"], known["person_id"], known["answer"]) != (asked["id"], person_id, ballot.answer):
        raise AlreadyStored("this ballot was used for another vote")
    return known


def is_counted(connection: Connection, key: str) -> bool:
    """Whether a ballot with this key was counted."""
    return connection.execute(_OF_KEY, {"ballot": key}).first() is not None


def cast(connection: Connection, asked: RowMapping, by: Person, ballot: Ballot, *, now: datetime) -> RowMapping:
    """Add a vote that was not counted before; a change without a reason raises."""
    before = last_vote(connection, asked["id"], by.id)
    stood = before is not None and before["answer"] is not None
    if stood and not ballot.why.strip():
        raise InputError("you have voted on this item: say why the vote changes")
    if not stood and ballot.answer is None:
        raise InputError("there is no vote on this item to take back")
    if before is not None and ballot.why.strip() in ("", UNDONE) and is_revealed(connection, asked["id"], by):
        raise ReasonNeeded("all votes on this item were in and could be seen: say why your vote changes")
    row = {
        "key": ballot.key, "item_id": asked["id"], "person_id": by.id, "answer": ballot.answer,
        "replaces": None if before is None else before["id"], "severity": ballot.severity, "reason": ballot.reason,
        "why": ballot.why, "seconds": ballot.seconds, "at": now,
    }  # fmt: skip
    added = connection.execute(_ADD, row).mappings().one()
    change = int(stood) - int(ballot.answer is not None)
    connection.execute(_COUNT, {"asked": asked["id"], "change": change})
    release(connection, asked["id"], by.id)
    extend_chain(connection, vote, [added])  # last: others who vote wait from here on
    return added


def last_vote(connection: Connection, item_id: int, person_id: int) -> RowMapping | None:
    """Someone's last vote on an item, which may be one that takes their vote back."""
    return connection.execute(_MINE, {"asked": item_id, "whose": person_id}).mappings().first()


def already_undone(connection: Connection, item_id: int, person_id: int, key: str) -> RowMapping | None:
    """What has taken back someone's vote with this key before, none if it stands; where another stands, it raises."""
    last = last_vote(connection, item_id, person_id)
    if last is None or last["key"] == key:
        return None
    if last["answer"] is not None:
        raise AlreadyStored("your vote on this item was changed since, elsewhere: look at it before you undo it")
    return last


def standing_votes(connection: Connection, item_id: int) -> Sequence[RowMapping]:
    """Everyone's last vote on an item, those taken back left out, oldest first."""
    return connection.execute(_STANDING, {"asked": item_id}).mappings().all()


def newest_vote(connection: Connection, queue_id: int, person_id: int) -> RowMapping | None:
    """Someone's newest vote in a queue that stands."""
    mine = select(vote).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    found = mine.where(vote.c.person_id == person_id, STANDS).order_by(vote.c.id.desc()).limit(1)
    return connection.execute(found).mappings().first()


def locked_item(connection: Connection, item_id: int) -> RowMapping:
    """An item and the question of its queue; no one else changes it until this transaction ends."""
    found = connection.execute(_LOCKED, {"asked": item_id}).mappings().first()
    if found is None:
        raise UnknownName("item", str(item_id), None)
    return found
