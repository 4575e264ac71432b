"""Votes: added one after another, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, insert, select, update

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger.queueing import release
from regrade.ledger.records import Ballot
from regrade.ledger.schema import item, vote
from regrade.ledger.standing import IS_LAST, STANDS


def cast(connection: Connection, asked: RowMapping, person_id: int, ballot: Ballot, *, now: datetime) -> RowMapping:
    """Add a vote; the same ballot a second time is the vote it was the first time.

    A change without a reason and a key that another vote has raise.
    """
    known = connection.execute(select(vote).where(vote.c.key == ballot.key)).mappings().first()
    if known is not None:
        return _the_same(known, asked["id"], person_id, ballot)
    mine = vote.c.item_id == asked["id"], vote.c.person_id == person_id
    before = connection.execute(select(vote).where(*mine, IS_LAST)).mappings().first()
    stood = before is not None and before["answer"] is not None
    if stood and not ballot.why.strip():
        raise InputError("you have voted on this item: say why the vote changes")
    if not stood and ballot.answer is None:
        raise InputError("there is no vote on this item to take back")
    row = insert(vote).values(
        key=ballot.key, item_id=asked["id"], person_id=person_id, replaces=None if before is None else before["id"],
        answer=ballot.answer, severity=ballot.severity, reason=ballot.reason, why=ballot.why, seconds=ballot.seconds,
        at=now,
    )  # fmt: skip
    added = connection.execute(row.returning(*vote.c)).mappings().one()
    missing = item.c.missing + int(stood) - int(ballot.answer is not None)
    connection.execute(update(item).where(item.c.id == asked["id"]).values(missing=missing))
    release(connection, asked["id"], person_id)
    return added


def standing_votes(connection: Connection, item_id: int) -> Sequence[RowMapping]:
    """Everyone's last vote on an item, those taken back left out, oldest first."""
    found = select(vote).where(vote.c.item_id == item_id, STANDS).order_by(vote.c.id)
    return connection.execute(found).mappings().all()


def newest_vote(connection: Connection, queue_id: int, person_id: int) -> RowMapping | None:
    """Someone's newest vote in a queue that stands."""
    mine = select(vote).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    found = mine.where(vote.c.person_id == person_id, STANDS).order_by(vote.c.id.desc()).limit(1)
    return connection.execute(found).mappings().first()


def is_known(connection: Connection, key: str) -> bool:
    """Whether a ballot was counted already."""
    return connection.execute(select(vote.c.id).where(vote.c.key == key)).first() is not None


def locked_item(connection: Connection, item_id: int) -> RowMapping:
    """An item that no one else changes until this transaction ends."""
    found = connection.execute(select(item).where(item.c.id == item_id).with_for_update()).mappings().first()
    if found is None:
        raise UnknownName("item", str(item_id), [])
    return found


def _the_same(known: RowMapping, item_id: int, person_id: int, ballot: Ballot) -> RowMapping:
    if (known["item_id"], known["person_id"], known["answer"]) != (item_id, person_id, ballot.answer):
        raise AlreadyStored("this ballot was used for another vote")
    return known
