"""Which item comes next, for whom: each in an order of their own, no more people at an item than it wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, RowMapping, bindparam, delete, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from regrade.core.own_order import own_place
from regrade.ledger.current_votes import STANDS
from regrade.ledger.schema import TimestampColumn, block, item, lease, queue, report, skip, turn, vote
from regrade.ledger.upsert import put, put_once

LEASE = timedelta(minutes=15)
"""How long an item stays with the person it was given to, if no vote comes."""

_STRIDES = (8, 64, 128)  # turns looked up at once, one after another, before the open items are looked through instead


def next_item(
    connection: Connection, queue_id: int, person_id: int, *, now: datetime, after: int | None = None
) -> RowMapping | None:
    """Give someone their next item and lease it to them; what they hold already comes first, but for ``after``.

    Everyone goes through a queue in an order of their own, and how far is kept: what lies behind is not looked at
    again, so the time it takes does not grow with the queue. Where nearly all is done, the index of open items helps.
    """
    who = {"wanted": queue_id, "whose": person_id, "now": now, "but": after or 0}
    held = connection.execute(_HELD, who).mappings().first()
    if held is None:
        return _leased_free_item(connection, who)
    hold(connection, held, person_id, now=now)
    return held


def lock_queue(connection: Connection, queue_id: int) -> None:
    """Let no one else add to a queue, or give it away, until this transaction ends; votes go on."""
    connection.execute(_LOCKED_QUEUE, {"wanted": queue_id})


def hold(connection: Connection, asked: RowMapping, person_id: int, *, now: datetime) -> None:
    """Lease an item to someone: no one else is given it by accident."""
    mine = {"item_id": asked["id"], "person_id": person_id}
    put(connection, lease, mine, queue_id=asked["queue_id"], until=now + LEASE)


_RELEASED_BY_ALL = delete(lease).where(lease.c.item_id == bindparam("asked"))
_RELEASED = _RELEASED_BY_ALL.where(lease.c.person_id == bindparam("whose"))


def release(connection: Connection, item_id: int, person_id: int) -> None:
    """Take a lease back: someone has voted."""
    connection.execute(_RELEASED, {"asked": item_id, "whose": person_id})


def release_all(connection: Connection, item_id: int) -> None:
    """Take all leases of an item back: it is decided, and wants no one's vote."""
    connection.execute(_RELEASED_BY_ALL, {"asked": item_id})


def skip_item(connection: Connection, item_row: RowMapping, person_id: int) -> None:
    """Put an item off: someone is given it again once nothing else is left for them, and they ask for it."""
    release(connection, item_row["id"], person_id)
    put_once(connection, skip, {"item_id": item_row["id"], "person_id": person_id}, queue_id=item_row["queue_id"])


def return_skipped(connection: Connection, queue_id: int, person_id: int) -> None:
    """Give someone what they skipped in a queue: it is free again, like any other item."""
    connection.execute(delete(skip).where(skip.c.queue_id == queue_id, skip.c.person_id == person_id))


def count_skipped(connection: Connection, queue_id: int, person_id: int) -> int:
    """How many items of a queue someone has skipped that still need their answer."""
    counted = connection.execute(_COUNT_SKIPPED, {"queue_id": queue_id, "whose": person_id})
    return int(counted.scalar_one())


ANSWERED: ColumnElement[bool] = exists(
    select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.person_id == bindparam("whose"), STANDS)
)
"""Whether the person ``whose`` has a vote on the item."""

REPORTED: ColumnElement[bool] = exists(
    select(report.c.id).where(
        report.c.item_id == item.c.id, report.c.person_id == bindparam("whose"), report.c.cleared.is_(None)
    )
)
"""Whether the person ``whose`` has reported the item's image as unreadable, and no one has cleared the report."""

_SKIPPED: ColumnElement[bool] = exists(
    select(skip.c.item_id).where(skip.c.item_id == item.c.id, skip.c.person_id == bindparam("whose"))
)

_GOOD: ColumnElement[bool] = lease.c.until > bindparam("now", type_=TimestampColumn)
_HELD_BY_OTHERS = select(func.count()).where(
    lease.c.item_id == item.c.id, _GOOD, lease.c.person_id != bindparam("whose")
)
_FREE = select(item).where(
    item.c.queue_id == bindparam("wanted"),
    item.c.id != bindparam("but"),
    item.c.missing > 0,
    item.c.missing > _HELD_BY_OTHERS.scalar_subquery(),
    ~ANSWERED,
    ~REPORTED,
    ~_SKIPPED,
)  # items that want more people than hold or have answered them, and not yet this one's answer
_LOCKED = select(item.c.id).where(item.c.id == bindparam("asked")).with_for_update()
_LEASE_OF_FREE = insert(lease).from_select(
    ["item_id", "person_id", "queue_id", "until"],
    _FREE.with_only_columns(
        item.c.id, bindparam("whose", type_=Integer), item.c.queue_id, bindparam("until", type_=TimestampColumn)
    ).where(item.c.id == bindparam("asked")),
)
_LEASE_IF_FREE = _LEASE_OF_FREE.on_conflict_do_update(  # the person may have held it before, for too long
    index_elements=["item_id", "person_id"], set_={"until": _LEASE_OF_FREE.excluded.until}
).returning(lease.c.item_id)
_FREE_AT = _FREE.where(item.c.place.in_(bindparam("places", expanding=True)))
_FREE_FROM = _FREE.where(item.c.place >= bindparam("middle")).order_by(item.c.place).limit(1)
_FREE_UNTIL = _FREE.where(item.c.place < bindparam("middle")).order_by(item.c.place).limit(1)
_HELD = (
    select(item)
    .join(lease, lease.c.item_id == item.c.id)
    .where(
        lease.c.queue_id == bindparam("wanted"),
        lease.c.person_id == bindparam("whose"),
        _GOOD,
        lease.c.item_id != bindparam("but"),
        ~ANSWERED,
        ~REPORTED,
    )
    .order_by(lease.c.until)
    .limit(1)
)
_COUNT_SKIPPED = (
    select(func.count())
    .select_from(item)
    .join(skip, (skip.c.item_id == item.c.id) & (skip.c.person_id == bindparam("whose")))
    .where(skip.c.queue_id == bindparam("queue_id"), item.c.missing > 0, ~ANSWERED, ~REPORTED)
)
_BLOCKS_AND_TURN = (
    select(block.c.start, block.c.size, func.coalesce(turn.c.turn, 0))
    .outerjoin(turn, (turn.c.queue_id == block.c.queue_id) & (turn.c.person_id == bindparam("whose")))
    .where(block.c.queue_id == bindparam("wanted"))
)
_LOCKED_QUEUE = select(queue.c.id).where(queue.c.id == bindparam("wanted")).with_for_update(key_share=True)
_LAST = select(func.max(item.c.place)).where(item.c.queue_id == bindparam("wanted"))


def _leased_free_item(connection: Connection, who: dict[str, Any]) -> RowMapping | None:
    """The next item that is free, now leased: one that someone else was given meanwhile is passed over."""
    while (row := _along_own_order(connection, who) or _among_open(connection, who)) is not None:
        if _lease_if_free(connection, row, who):
            return row
    return None


def _lease_if_free(connection: Connection, item_row: RowMapping, who: dict[str, Any]) -> bool:
    """Lease an item that was free a moment ago, and say whether it still was."""
    if connection.dialect.name == "sqlite":  # where no one else writes meanwhile
        hold(connection, item_row, who["whose"], now=who["now"])
        return True
    connection.execute(_LOCKED, {"asked": item_row["id"]})
    values = {**who, "asked": item_row["id"], "until": who["now"] + LEASE}
    return connection.execute(_LEASE_IF_FREE, values).first() is not None


def _along_own_order(connection: Connection, who: dict[str, Any]) -> RowMapping | None:
    blocks = connection.execute(_BLOCKS_AND_TURN, who).all()
    begin = blocks[0][2] if blocks else 0
    upcoming = own_order([(start, size) for start, size, _ in blocks], begin, key=_key(who))
    for stride in _STRIDES:
        places = list(islice(upcoming, stride))
        by_place = {row["place"]: row for row in connection.execute(_FREE_AT, {**who, "places": places}).mappings()}
        chosen = next((n for n, place in enumerate(places) if place in by_place), None)
        begin += len(places) if chosen is None else chosen + 1
        if chosen is not None or len(places) < stride:
            break
    put(connection, turn, {"queue_id": who["wanted"], "person_id": who["whose"]}, turn=begin)
    return None if chosen is None else by_place[places[chosen]]


def _among_open(connection: Connection, who: dict[str, Any]) -> RowMapping | None:
    """The next open item from a place of one's own on, round to the first one if need be."""
    last = connection.execute(_LAST, who).scalar()
    if last is None:
        return None
    middle = own_place(0, size=last + 1, key=_key(who))
    for part in (_FREE_FROM, _FREE_UNTIL):
        found = connection.execute(part, {**who, "middle": middle}).mappings().first()
        if found is not None:
            return found
    return None


def own_order(blocks: Sequence[tuple[int, int]], begin: int, *, key: str) -> Iterator[int]:
    """The places of a queue from a turn on, block by block, each block in the order that a key shuffles."""
    for start, size in sorted(blocks):
        for number in range(max(begin - start, 0), size):
            yield start + own_place(number, size=size, key=f"{key} {start}")


def _key(who: dict[str, Any]) -> str:
    return f"{who['wanted']} {who['whose']}"
