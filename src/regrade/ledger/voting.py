"""Votes: added one after another, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from regrade.core import AlreadyStored, InputError, ReasonNeeded, UnknownName
from regrade.ledger.chain import SUBJECT, extend_chain_by
from regrade.ledger.current_votes import STANDS
from regrade.ledger.queue_order import release
from regrade.ledger.records import Person, VoteContent
from regrade.ledger.reveal import reveals
from regrade.ledger.schema import item, person, queue, vote

_OF_KEY = select(vote).where(vote.c.key == bindparam("ballot"))
_ON_ITEM = select(vote).where((vote.c.item_id == bindparam("on_item")) | (vote.c.key == bindparam("ballot")))
_ADD = insert(vote).returning(*vote.c)
_COUNT = update(item).where(item.c.id == bindparam("asked")).values(missing=item.c.missing + bindparam("change"))
_STANDING = select(vote).where(vote.c.item_id == bindparam("asked"), STANDS).order_by(vote.c.id)
_ASKED = select(item, queue.c.question).join(queue, queue.c.id == item.c.queue_id)
_LOCKED = _ASKED.where(item.c.id == bindparam("asked")).with_for_update(of=item)
_LOCKED_FOR = _LOCKED.add_columns(*SUBJECT).outerjoin(person, person.c.id == bindparam("voter"))


UNDONE = "undone at once"
"""Why a vote was taken back for which no reason was asked: the others' votes could not be seen yet."""


def votes_so_far(connection: Connection, item_id: int, key: str) -> list[RowMapping]:
    """All votes ever cast on an item, oldest first, and the one with this key, whatever item it is on."""
    rows = connection.execute(_ON_ITEM, {"on_item": item_id, "ballot": key}).mappings().all()
    return sorted(rows, key=itemgetter("id"))


def counted(
    votes: Iterable[RowMapping], item_row: RowMapping, person_id: int, ballot: VoteContent
) -> RowMapping | None:
    """The vote that a ballot was counted as before, if it was; one of another person or item raises."""
    row = next((row for row in votes if row["key"] == ballot.key), None)
    if row is None:
        return None
    if (row["item_id"], row["person_id"], row["answer"]) != (item_row["id"], person_id, ballot.answer):
        raise AlreadyStored("this ballot was used for another vote")
    return row


def is_counted(connection: Connection, key: str) -> bool:
    """Whether a ballot with this key was counted."""
    return connection.execute(_OF_KEY, {"ballot": key}).first() is not None


def cast(
    connection: Connection,
    item_row: RowMapping,
    votes: Sequence[RowMapping],
    by: Person,
    ballot: VoteContent,
    *,
    now: datetime,
) -> RowMapping:
    """Add a vote that was not counted before to the ``votes`` so far; a change without a reason raises."""
    before = last_vote(votes, by.id)
    stood = before is not None and before["answer"] is not None
    if stood and not ballot.why.strip():
        raise InputError("you have voted on this item: say why the vote changes")
    if not stood and ballot.answer is None:
        raise InputError("there is no vote on this item to take back")
    if before is not None and ballot.why.strip() in ("", UNDONE) and reveals(item_row, votes, by):
        raise ReasonNeeded("all votes on this item were in and could be seen: say why your vote changes")
    row = {
        "key": ballot.key, "item_id": item_row["id"], "person_id": by.id, "answer": ballot.answer,
        "replaces": None if before is None else before["id"], "severity": ballot.severity, "reason": ballot.reason,
        "why": ballot.why, "seconds": ballot.seconds, "at": now,
    }  # fmt: skip
    added = connection.execute(_ADD, row).mappings().one()
    change = int(stood) - int(ballot.answer is not None)
    connection.execute(_COUNT, {"asked": item_row["id"], "change": change})
    release(connection, item_row["id"], by.id)
    extend_chain_by(connection, vote, added, item_row)  # last: others who vote wait from here on
    return added


def last_vote(votes: Sequence[RowMapping], person_id: int) -> RowMapping | None:
    """Someone's last vote among those on an item, oldest first; it may be one that takes their vote back."""
    return next((row for row in reversed(votes) if row["person_id"] == person_id), None)


def already_undone(votes: Sequence[RowMapping], person_id: int, key: str) -> RowMapping | None:
    """What has taken back someone's vote with this key before, none if it stands; where another stands, it raises."""
    last = last_vote(votes, person_id)
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
    return _existing(connection.execute(_LOCKED, {"asked": item_id}).mappings().first(), item_id)


def locked_for_vote(connection: Connection, item_id: int, person_id: int) -> RowMapping:
    """A locked item with all that the link of a vote of someone covers."""
    row = connection.execute(_LOCKED_FOR, {"asked": item_id, "voter": person_id}).mappings().first()
    return _existing(row, item_id)


def _existing(row: RowMapping | None, item_id: int) -> RowMapping:
    if row is None:
        raise UnknownName("item", str(item_id), None)
    return row
