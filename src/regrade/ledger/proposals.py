"""Proposals: classes that a reviewer adds to a queue, and corrections that visitors propose through a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, Select, Update, bindparam, func, insert, select, update

from regrade.core import AlreadyStored, InputError
from regrade.core.panel import Claim
from regrade.ledger.accounts import digest_of, new_token
from regrade.ledger.chain import extend_chain
from regrade.ledger.database import writing
from regrade.ledger.queue_order import append_items, lock_queue
from regrade.ledger.records import Item, NewItem, Person, Queue, record_of
from regrade.ledger.schema import item, now_in_utc, person, proposal, proposal_link, queue

MAX_OPEN = 1_000
"""Maximum number of open items of a queue of proposals; no items are added beyond it."""

MAX_PER_ITEM = 100
"""Maximum number of stored proposals per item; further ones are accepted, and not stored."""


class QueueFull(InputError):
    """So many proposals wait for a decision that no new ones are accepted."""


@dataclass(frozen=True)
class Proposal:
    """What a person or a visitor proposed; ``person`` is None for a visitor, whose own name may be empty."""

    id: int
    item_id: int
    person: str | None
    visitor: str
    claim: Claim
    reason: str
    at: datetime

    @property
    def by(self) -> str:
        """Who proposed it, as text."""
        return self.person or (f"visitor {self.visitor}" if self.visitor else "a visitor")


@dataclass(frozen=True)
class ProposalLink:
    """A link through which anyone can propose corrections into a queue; ``ended`` is None while it works."""

    queue: Queue
    created: datetime
    ended: datetime | None


class Proposals:
    """The proposals in a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add_class(self, to: Queue, new: NewItem, by: Person, reason: str = "") -> Item:
        """Add an item about a class that a reviewer sees in an image; raises if the queue has it already.

        Idempotent: a person who adds the same class again gets its item.
        """
        with writing(self.engine) as connection:
            lock_queue(connection, to.id)
            stored = connection.execute(_item(to.id, new)).mappings().first()
            if stored is None:
                stored = _added(connection, to.id, new)
                self._log(connection, stored["id"], Claim.MISSING, reason, by=by)
            elif connection.execute(_OF_ITEM.where(proposal.c.person_id == by.id), _on(stored)).first() is None:
                raise AlreadyStored("this class of the image is in the queue already")
        return record_of(Item, stored)

    def propose(self, to: Queue, new: NewItem, claim: Claim, reason: str, *, visitor: str = "") -> Item:
        """Add a visitor's proposal; the second one about an image and class adds no item. Idempotent.

        Raises `QueueFull` if `MAX_OPEN` items are open.
        """
        with writing(self.engine) as connection:
            lock_queue(connection, to.id)
            stored = connection.execute(_item(to.id, new)).mappings().first()
            if stored is None:
                open_items = select(func.count()).where(item.c.queue_id == to.id, item.c.missing > 0)
                if connection.execute(open_items).scalar_one() >= MAX_OPEN:
                    raise QueueFull("many proposals are waiting to be checked: please come back in some days")
                stored = _added(connection, to.id, new)
            earlier = connection.execute(_OF_ITEM, _on(stored)).mappings().all()
            same = any(
                (row["visitor"], row["claim"], row["reason"]) == (visitor, claim.value, reason) for row in earlier
            )
            if not same and len(earlier) < MAX_PER_ITEM:
                self._log(connection, stored["id"], claim, reason, visitor=visitor)
        return record_of(Item, stored)

    def of_item(self, item_id: int) -> tuple[Proposal, ...]:
        """The proposals that led to an item, oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(_OF_ITEM, {"on_item": item_id}).mappings()
            return tuple(Proposal(**{**row, "claim": Claim(row["claim"])}) for row in rows)

    def count(self, of: Queue) -> int:
        """The number of proposals that were stored for a queue."""
        stored = select(func.count()).select_from(proposal.join(item, item.c.id == proposal.c.item_id))
        with self.engine.connect() as connection:
            return int(connection.execute(stored.where(item.c.queue_id == of.id)).scalar_one())

    # Links

    def new_link(self, to: Queue) -> str:
        """Create the link through which anyone can propose into a queue, and return its token; ends earlier links."""
        token = new_token()
        with writing(self.engine) as connection:
            lock_queue(connection, to.id)
            connection.execute(_ended(to.id, self._now()))
            row = {"digest": digest_of(token), "queue_id": to.id, "created": self._now()}
            connection.execute(insert(proposal_link).values(**row))
        return token

    def end_link(self, to: Queue) -> bool:
        """End the link of a queue at once, and return whether there was one."""
        with writing(self.engine) as connection:
            return connection.execute(_ended(to.id, self._now())).rowcount > 0

    def queue_of_link(self, token: str) -> Queue | None:
        """The queue of a link, or None if there is no such link or it was ended."""
        links = select(queue).join(proposal_link, proposal_link.c.queue_id == queue.c.id)
        valid = links.where(proposal_link.c.digest == digest_of(token), proposal_link.c.ended.is_(None))
        with self.engine.connect() as connection:
            row = connection.execute(valid).mappings().first()
        return None if row is None else record_of(Queue, row)

    def links(self) -> tuple[ProposalLink, ...]:
        """The newest link of each queue that has one, oldest queue first."""
        links = select(queue, proposal_link.c.created, proposal_link.c.ended).join(
            proposal_link, proposal_link.c.queue_id == queue.c.id
        )
        with self.engine.connect() as connection:
            rows = connection.execute(links.order_by(queue.c.id, proposal_link.c.created)).mappings()
            newest = {row["id"]: ProposalLink(record_of(Queue, row), row["created"], row["ended"]) for row in rows}
        return tuple(newest.values())

    def _log(
        self,
        connection: Connection,
        item_id: int,
        claim: Claim,
        reason: str,
        *,
        by: Person | None = None,
        visitor: str = "",
    ) -> None:
        row = {
            "item_id": item_id, "person_id": None if by is None else by.id, "visitor": visitor, "claim": claim.value,
            "reason": reason, "at": self._now(),
        }  # fmt: skip
        added = connection.execute(insert(proposal).values(**row).returning(*proposal.c)).mappings().one()
        extend_chain(connection, proposal, [added])


_OF_ITEM = (
    select(*proposal.c["id", "item_id", "visitor", "claim", "reason", "at"], person.c.name.label("person"))
    .outerjoin(person, person.c.id == proposal.c.person_id)
    .where(proposal.c.item_id == bindparam("on_item"))
    .order_by(proposal.c.id)
)


def _on(item_row: RowMapping) -> dict[str, int]:
    return {"on_item": item_row["id"]}


def _item(queue_id: int, new: NewItem) -> Select[Any]:
    return select(item).where(
        item.c.queue_id == queue_id, item.c.example == new.example, item.c["class"] == new.class_id
    )


def _added(connection: Connection, queue_id: int, new: NewItem) -> RowMapping:
    """Append an item to a locked queue, and return its row."""
    needed = connection.execute(select(queue.c.overlap).where(queue.c.id == queue_id)).scalar_one()
    append_items(connection, queue_id, [new], needed=needed)
    return connection.execute(_item(queue_id, new)).mappings().one()


def _ended(queue_id: int, now: datetime) -> Update:
    links = update(proposal_link).where(proposal_link.c.queue_id == queue_id, proposal_link.c.ended.is_(None))
    return links.values(ended=now)
