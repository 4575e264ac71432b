"""Which item comes next, for whom: each in an order of their own, no more people at an item than it wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, delete, exists, func, select

from regrade.core.own_order import own_place
from regrade.ledger.schema import block, item, lease, turn, vote
from regrade.ledger.standing import STANDS
from regrade.ledger.upsert import put

LEASE = timedelta(minutes=15)
"""How long an item stays with the person it was given to, if no vote comes."""

_STRIDE, _STRIDES = 64, 4  # turns looked up at once, and how often before the open items are looked through instead


def next_item(connection: Connection, queue_id: int, person_id: int, *, now: datetime) -> RowMapping | None:
    """Give someone their next item and lease it to them; what they hold already comes first.

    Everyone goes through a queue in an order of their own, and how far is kept: what lies behind is not looked at
    again, so the time it takes does not grow with the queue. Where nearly all is done, the index of open items helps.
    """
    found = (
        _held(connection, queue_id, person_id, now)
        or _along_own_order(connection, queue_id, person_id, now)
        or _among_open(connection, queue_id, person_id, now)
    )
    if found is not None:
        put(connection, lease, {"item_id": found["id"], "person_id": person_id}, queue_id=queue_id, until=now + LEASE)
    return found


def release(connection: Connection, item_id: int, person_id: int) -> None:
    """Take a lease back: someone has voted, or does not want to."""
    connection.execute(delete(lease).where(lease.c.item_id == item_id, lease.c.person_id == person_id))


def _held(connection: Connection, queue_id: int, person_id: int, now: datetime) -> RowMapping | None:
    mine = lease.c.queue_id == queue_id, lease.c.person_id == person_id, lease.c.until > now
    held = select(item).join(lease, lease.c.item_id == item.c.id).where(*mine, ~_answered(person_id))
    return connection.execute(held.order_by(lease.c.until).limit(1)).mappings().first()


def _along_own_order(connection: Connection, queue_id: int, person_id: int, now: datetime) -> RowMapping | None:
    where = turn.c.queue_id == queue_id, turn.c.person_id == person_id
    begin = connection.execute(select(turn.c.turn).where(*where)).scalar() or 0
    blocks = connection.execute(select(block.c.start, block.c.size).where(block.c.queue_id == queue_id)).all()
    upcoming = own_order([(start, size) for start, size in blocks], begin, key=f"{queue_id} {person_id}")
    for _ in range(_STRIDES):
        places = list(islice(upcoming, _STRIDE))
        free = _free(person_id, now).where(item.c.queue_id == queue_id, item.c.place.in_(places))
        by_place = {row["place"]: row for row in connection.execute(free).mappings()}
        chosen = next((n for n, place in enumerate(places) if place in by_place), None)
        begin += len(places) if chosen is None else chosen + 1
        if chosen is not None or len(places) < _STRIDE:
            break
    put(connection, turn, {"queue_id": queue_id, "person_id": person_id}, turn=begin)
    return None if chosen is None else by_place[places[chosen]]


def _among_open(connection: Connection, queue_id: int, person_id: int, now: datetime) -> RowMapping | None:
    """The next open item from a place of one's own on, round to the first one if need be."""
    last = connection.execute(select(func.max(item.c.place)).where(item.c.queue_id == queue_id)).scalar()
    if last is None:
        return None
    middle = own_place(0, size=last + 1, key=f"{queue_id} {person_id}")
    free = _free(person_id, now).where(item.c.queue_id == queue_id).order_by(item.c.place).limit(1)
    for half in (item.c.place >= middle, item.c.place < middle):
        found = connection.execute(free.where(half)).mappings().first()
        if found is not None:
            return found
    return None


def own_order(blocks: Sequence[tuple[int, int]], begin: int, *, key: str) -> Iterator[int]:
    """The places of a queue from a turn on, block by block, each block in the order that a key shuffles."""
    for start, size in sorted(blocks):
        for number in range(max(begin - start, 0), size):
            yield start + own_place(number, size=size, key=f"{key} {start}")


def _free(person_id: int, now: datetime) -> Select[tuple[object, ...]]:
    """Items that want more people than hold or have answered them, and not yet this one's answer."""
    others = select(func.count()).where(
        lease.c.item_id == item.c.id, lease.c.until > now, lease.c.person_id != person_id
    )
    return select(item).where(item.c.missing > 0, item.c.missing > others.scalar_subquery(), ~_answered(person_id))


def _answered(person_id: int) -> ColumnElement[bool]:
    """Whether someone has a vote on the item."""
    return exists(select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.person_id == person_id, STANDS))
