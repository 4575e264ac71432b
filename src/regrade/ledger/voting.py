"""Cast votes: rows are only added, never changed; after the reveal of the other votes a change needs a reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, bindparam, insert, select, update

from regrade.core import AlreadyStored, InputError, ReasonNeeded, UnknownName
from regrade.core.panel import Mode
from regrade.ledger.chain import SUBJECT
from regrade.ledger.questions import question_named
from regrade.ledger.queue_order import release
from regrade.ledger.records import Person, VoteContent, shows_votes
from regrade.ledger.schema import IS_CURRENT, item, person, queue, vote

_WITH_KEY = select(vote).where(vote.c.key == bindparam("vote_key"))
_ON_ITEM = select(vote).where((vote.c.item_id == bindparam("on_item")) | (vote.c.key == bindparam("vote_key")))
_ADD = insert(vote).returning(*vote.c)
_COUNT = update(item).where(item.c.id == bindparam("on_item")).values(missing=item.c.missing + bindparam("change"))
_CURRENT = select(vote).where(vote.c.item_id == bindparam("on_item"), IS_CURRENT).order_by(vote.c.id)
_WITH_QUESTION = select(item, queue.c.question).join(queue, queue.c.id == item.c.queue_id)
_LOCKED = _WITH_QUESTION.where(item.c.id == bindparam("on_item")).with_for_update(of=item)
_LOCKED_FOR_VOTE = _LOCKED.add_columns(*SUBJECT).outerjoin(person, person.c.id == bindparam("voter"))
_WITH_RULES = (
    select(vote.c.person_id, vote.c.answer, item.c.needed, queue.c.question, queue.c.mode)
    .join(item, item.c.id == vote.c.item_id)
    .join(queue, queue.c.id == item.c.queue_id)
    .where(vote.c.item_id == bindparam("item_id"))
    .order_by(vote.c.id)
)

UNDONE = "undone at once"
"""The reason stored with a vote that was retracted before the reveal, when no reason is required."""


def votes_so_far(connection: Connection, item_id: int, key: str) -> list[RowMapping]:
    """All votes ever cast on an item, oldest first, and the vote with this key, whatever item it is on."""
    rows = connection.execute(_ON_ITEM, {"on_item": item_id, "vote_key": key}).mappings().all()
    return sorted(rows, key=itemgetter("id"))


def stored_vote(
    votes: Iterable[RowMapping], item_row: RowMapping, person_id: int, content: VoteContent
) -> RowMapping | None:
    """The stored vote with the same key, if any; raises if its person, item or answer differs."""
    row = next((row for row in votes if row["key"] == content.key), None)
    if row is None:
        return None
    if (row["item_id"], row["person_id"], row["answer"]) != (item_row["id"], person_id, content.answer):
        raise AlreadyStored("the key of this vote was already used for another vote")
    return row


def is_stored(connection: Connection, key: str) -> bool:
    """Whether there is a vote with this key."""
    return connection.execute(_WITH_KEY, {"vote_key": key}).first() is not None


def cast(
    connection: Connection,
    item_row: RowMapping,
    votes: Sequence[RowMapping],
    by: Person,
    content: VoteContent,
    *,
    now: datetime,
) -> RowMapping:
    """Add a new vote after the ``votes`` so far, without its link; raises for a change without a reason."""
    before = last_vote(votes, by.id)
    was_current = before is not None and before["answer"] is not None
    if was_current and not content.why.strip():
        raise InputError("you have voted on this item: give a reason for changing the vote")
    if not was_current and content.answer is None:
        raise InputError("there is no vote on this item to take back")
    if before is not None and content.why.strip() in ("", UNDONE) and reveals(item_row, votes, by):
        raise ReasonNeeded("all votes on this item could be seen: give a reason for changing your vote")
    row = {
        "key": content.key, "item_id": item_row["id"], "person_id": by.id, "answer": content.answer,
        "replaces": None if before is None else before["id"], "severity": content.severity, "reason": content.reason,
        "why": content.why, "seconds": content.seconds, "at": now,
    }  # fmt: skip
    added = connection.execute(_ADD, row).mappings().one()
    change = int(was_current) - int(content.answer is not None)
    connection.execute(_COUNT, {"on_item": item_row["id"], "change": change})
    release(connection, item_row["id"], by.id)
    return added


def last_vote(votes: Sequence[RowMapping], person_id: int) -> RowMapping | None:
    """A person's last vote among all votes on an item, oldest first; it may be a retraction."""
    return next((row for row in reversed(votes) if row["person_id"] == person_id), None)


def stored_retraction(votes: Sequence[RowMapping], person_id: int, key: str) -> RowMapping | None:
    """The retraction of a person's vote with this key, or None if it is current; raises if another vote is current."""
    last = last_vote(votes, person_id)
    if last is None or last["key"] == key:
        return None
    if last["answer"] is not None:
        raise AlreadyStored("your vote on this item was changed elsewhere: look at it before you undo it")
    return last


def current_votes_on(connection: Connection, item_id: int) -> Sequence[RowMapping]:
    """The current votes on an item, without retracted ones, oldest first."""
    return connection.execute(_CURRENT, {"on_item": item_id}).mappings().all()


def newest_vote(connection: Connection, queue_id: int, person_id: int) -> RowMapping | None:
    """A person's newest current vote in a queue."""
    votes = select(vote).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    newest = votes.where(vote.c.person_id == person_id, IS_CURRENT).order_by(vote.c.id.desc()).limit(1)
    return connection.execute(newest).mappings().first()


def locked_item(connection: Connection, item_id: int) -> RowMapping:
    """Lock an item until this transaction ends, and return it with the question of its queue."""
    return _existing(connection.execute(_LOCKED, {"on_item": item_id}).mappings().first(), item_id)


def locked_for_vote(connection: Connection, item_id: int, person_id: int) -> RowMapping:
    """Lock an item, and return it with everything that the chain link of this person's vote covers."""
    row = connection.execute(_LOCKED_FOR_VOTE, {"on_item": item_id, "voter": person_id}).mappings().first()
    return _existing(row, item_id)


def _existing(row: RowMapping | None, item_id: int) -> RowMapping:
    if row is None:
        raise UnknownName("item", str(item_id), None)
    return row


def is_revealed(connection: Connection, item_id: int, person: Person) -> bool:
    """Whether a person may have seen another person's vote on an item, at any time until now."""
    rows = connection.execute(_WITH_RULES, {"item_id": item_id}).all()
    if not rows or not shows_votes(question_named(rows[0].question), Mode(rows[0].mode), person.role):
        return False
    return was_complete([(row.person_id, row.answer) for row in rows], needed=rows[0].needed, person_id=person.id)


def reveals(item_row: RowMapping, votes: Iterable[RowMapping], person: Person) -> bool:
    """Whether a person may have seen another vote on an item; ``votes`` are all votes ever cast on it, oldest first."""
    if not shows_votes(question_named(item_row["queue question"]), Mode(item_row["queue mode"]), person.role):
        return False
    cast = [(vote["person_id"], vote["answer"]) for vote in votes]
    return was_complete(cast, needed=item_row["needed"], person_id=person.id)


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


def votes_in(queue_id: int) -> Select[Any]:
    """All votes ever cast in a queue, with the image and the name of the person, oldest first."""
    return (
        select(vote, item.c.example, item.c["class"].label("class_id"), person.c.name)
        .join(item, item.c.id == vote.c.item_id)
        .join(person, person.c.id == vote.c.person_id)
        .where(item.c.queue_id == queue_id)
        .order_by(vote.c.id)
    )
