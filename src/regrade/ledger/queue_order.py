"""The order in which people get the items of a queue: shuffled per person, with no more people per item than needed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Select,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import postgresql

from regrade.ledger.column_types import TimestampColumn
from regrade.ledger.database import put, put_once
from regrade.ledger.records import NewItem
from regrade.ledger.schema import IS_CURRENT, block, item, lease, queue, report, skip, turn, vote

LEASE = timedelta(minutes=15)
"""How long an item is reserved for the person it was given to."""

_STRIDES = (8, 64, 128)  # positions of a person's order per query, before the index of open items is searched instead
_ROUNDS = 4


def next_item(
    connection: Connection,
    queue_id: int,
    person_id: int,
    *,
    now: datetime,
    after: int | None = None,
    without: Collection[int] = (),
) -> RowMapping | None:
    """Give a person their next item and lease it to them; an item they already hold comes first, except ``after``.

    Items at the places ``without`` are not given.

    Each person has their own order of a queue, and their position in it is stored: items before it are not searched
    again, so the time does not grow with the queue. If nearly all items are done, the index of open items is used.
    """
    params = {"in_queue": queue_id, "reviewer_id": person_id, "now": now, "excluded_item": after or 0}
    held = _first_given(connection, _HELD, params, without)
    if held is None:
        return _leased_free_item(connection, params, without)
    hold(connection, held, person_id, now=now)
    return held


def lock_queue(connection: Connection, queue_id: int) -> None:
    """Lock a queue against new items and assignments until this transaction ends; votes are not blocked."""
    connection.execute(_LOCKED_QUEUE, {"in_queue": queue_id})


def hold(connection: Connection, item_row: RowMapping, person_id: int, *, now: datetime) -> None:
    """Lease an item to a person, so that no more people than needed get it."""
    key = {"item_id": item_row["id"], "person_id": person_id}
    put(connection, lease, key, queue_id=item_row["queue_id"], until=now + LEASE)


_RELEASE_ALL = delete(lease).where(lease.c.item_id == bindparam("on_item"))
_RELEASE = _RELEASE_ALL.where(lease.c.person_id == bindparam("reviewer_id"))


def release(connection: Connection, item_id: int, person_id: int) -> None:
    """End a person's lease of an item, after they have voted."""
    connection.execute(_RELEASE, {"on_item": item_id, "reviewer_id": person_id})


def release_all(connection: Connection, item_id: int) -> None:
    """End all leases of an item, after it was decided."""
    connection.execute(_RELEASE_ALL, {"on_item": item_id})


def skip_item(connection: Connection, item_row: RowMapping, person_id: int) -> None:
    """Skip an item for a person: they get it again only after `return_skipped`."""
    release(connection, item_row["id"], person_id)
    put_once(connection, skip, {"item_id": item_row["id"], "person_id": person_id}, queue_id=item_row["queue_id"])


def return_skipped(connection: Connection, queue_id: int, person_id: int) -> None:
    """Make the items of a queue that a person skipped available to them again."""
    connection.execute(delete(skip).where(skip.c.queue_id == queue_id, skip.c.person_id == person_id))


def count_skipped(connection: Connection, queue_id: int, person_id: int) -> int:
    """The number of items of a queue that a person has skipped and that still need their answer."""
    params = {"in_queue": queue_id, "reviewer_id": person_id}
    return int(connection.execute(_COUNT_SKIPPED, params).scalar_one())


ANSWERED: ColumnElement[bool] = exists(
    select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.person_id == bindparam("reviewer_id"), IS_CURRENT)
)
"""Whether the person ``reviewer_id`` has a current vote on the item."""

REPORTED: ColumnElement[bool] = exists(
    select(report.c.id).where(
        report.c.item_id == item.c.id, report.c.person_id == bindparam("reviewer_id"), report.c.cleared.is_(None)
    )
)
"""Whether the person ``reviewer_id`` has reported the item's image as unreadable, and the report is not cleared."""

_SKIPPED: ColumnElement[bool] = exists(
    select(skip.c.item_id).where(skip.c.item_id == item.c.id, skip.c.person_id == bindparam("reviewer_id"))
)

_IS_VALID: ColumnElement[bool] = lease.c.until > bindparam("now", type_=TimestampColumn)
_HELD_BY_OTHERS = select(func.count()).where(
    lease.c.item_id == item.c.id, _IS_VALID, lease.c.person_id != bindparam("reviewer_id")
)
_FREE = select(item).where(
    item.c.queue_id == bindparam("in_queue"),
    item.c.id != bindparam("excluded_item"),
    item.c.missing > 0,
    item.c.missing > _HELD_BY_OTHERS.scalar_subquery(),
    ~ANSWERED,
    ~REPORTED,
    ~_SKIPPED,
)  # items that need more votes than there are leases, and that this person has not answered, reported or skipped
_LOCKED = select(item.c.id).where(item.c.id == bindparam("on_item")).with_for_update()
_LEASE_OF_FREE = postgresql.insert(lease).from_select(
    ["item_id", "person_id", "queue_id", "until"],
    _FREE.with_only_columns(
        item.c.id, bindparam("reviewer_id", type_=Integer), item.c.queue_id, bindparam("until", type_=TimestampColumn)
    ).where(item.c.id == bindparam("on_item")),
)
_LEASE_IF_FREE = _LEASE_OF_FREE.on_conflict_do_update(  # the person may have an expired lease of it
    index_elements=["item_id", "person_id"], set_={"until": _LEASE_OF_FREE.excluded.until}
).returning(lease.c.item_id)
_FREE_AT = _FREE.where(item.c.place.in_(bindparam("places", expanding=True)))
_MOST = bindparam("most", type_=Integer)
_FREE_FROM = _FREE.where(item.c.place >= bindparam("middle")).order_by(item.c.place).limit(_MOST)
_FREE_UNTIL = _FREE.where(item.c.place < bindparam("middle")).order_by(item.c.place).limit(_MOST)
_HELD = (
    select(item)
    .join(lease, lease.c.item_id == item.c.id)
    .where(
        lease.c.queue_id == bindparam("in_queue"),
        lease.c.person_id == bindparam("reviewer_id"),
        _IS_VALID,
        lease.c.item_id != bindparam("excluded_item"),
        ~ANSWERED,
        ~REPORTED,
    )
    .order_by(lease.c.until)
    .limit(_MOST)
)
_COUNT_SKIPPED = (
    select(func.count())
    .select_from(item)
    .join(skip, (skip.c.item_id == item.c.id) & (skip.c.person_id == bindparam("reviewer_id")))
    .where(skip.c.queue_id == bindparam("in_queue"), item.c.missing > 0, ~ANSWERED, ~REPORTED)
)
_BLOCKS_AND_TURN = (
    select(block.c.start, block.c.size, func.coalesce(turn.c.turn, 0))
    .outerjoin(turn, (turn.c.queue_id == block.c.queue_id) & (turn.c.person_id == bindparam("reviewer_id")))
    .where(block.c.queue_id == bindparam("in_queue"))
)
_LOCKED_QUEUE = select(queue.c.id).where(queue.c.id == bindparam("in_queue")).with_for_update(key_share=True)
_LAST = select(func.max(item.c.place)).where(item.c.queue_id == bindparam("in_queue"))


def _first_given(
    connection: Connection, rows: Select[Any], params: dict[str, Any], without: Collection[int]
) -> RowMapping | None:
    """The first row at another place than those ``without``; as many rows are read as there may be before it."""
    read = connection.execute(rows, {**params, "most": 1 + len(without)}).mappings().all()
    return next((row for row in read if row["place"] not in without), None)


def _leased_free_item(connection: Connection, params: dict[str, Any], without: Collection[int]) -> RowMapping | None:
    """Lease the next free item and return it; items that another person got in the meantime are skipped."""
    while (
        row := _next_in_own_order(connection, params, without) or _next_open(connection, params, without)
    ) is not None:
        if _lease_if_free(connection, row, params):
            return row
    return None


def _lease_if_free(connection: Connection, item_row: RowMapping, params: dict[str, Any]) -> bool:
    """Lease an item that was free a moment ago, and return whether it still was."""
    if connection.dialect.name == "sqlite":  # which has a single writer
        hold(connection, item_row, params["reviewer_id"], now=params["now"])
        return True
    connection.execute(_LOCKED, {"on_item": item_row["id"]})
    values = {**params, "on_item": item_row["id"], "until": params["now"] + LEASE}
    return connection.execute(_LEASE_IF_FREE, values).first() is not None


def _next_in_own_order(connection: Connection, params: dict[str, Any], without: Collection[int]) -> RowMapping | None:
    """The next free item in the person's own order, searched in a few steps; stores how far the search came."""
    blocks = connection.execute(_BLOCKS_AND_TURN, params).all()
    begin = blocks[0][2] if blocks else 0
    upcoming = own_order([(start, size) for start, size, _ in blocks], begin, key=_key(params))
    for stride in _STRIDES:
        places = list(islice(upcoming, stride))
        allowed = [place for place in places if place not in without]
        by_place = {row["place"]: row for row in connection.execute(_FREE_AT, {**params, "places": allowed}).mappings()}
        chosen = next((n for n, place in enumerate(places) if place in by_place), None)
        begin += len(places) if chosen is None else chosen + 1
        if chosen is not None or len(places) < stride:
            break
    put(connection, turn, {"queue_id": params["in_queue"], "person_id": params["reviewer_id"]}, turn=begin)
    return None if chosen is None else by_place[places[chosen]]


def _next_open(connection: Connection, params: dict[str, Any], without: Collection[int]) -> RowMapping | None:
    """The next open item after a random place of the person's own, wrapping around at the end."""
    last = connection.execute(_LAST, params).scalar()
    if last is None:
        return None
    middle = own_place(0, size=last + 1, key=_key(params))
    for part in (_FREE_FROM, _FREE_UNTIL):
        row = _first_given(connection, part, {**params, "middle": middle}, without)
        if row is not None:
            return row
    return None


def own_order(blocks: Sequence[tuple[int, int]], begin: int, *, key: str) -> Iterator[int]:
    """The places of a queue from turn ``begin`` on, block by block; ``key`` seeds the shuffle of each block."""
    for start, size in sorted(blocks):
        for position in range(max(begin - start, 0), size):
            yield start + own_place(position, size=size, key=f"{key} {start}")


def _key(params: dict[str, Any]) -> str:
    return f"{params['in_queue']} {params['reviewer_id']}"


def append_items(connection: Connection, queue_id: int, items: Sequence[NewItem], *, needed: int) -> None:
    """Append items that a queue does not have yet, as a new block; the queue must be locked.

    ``needed`` is the number of votes for items that do not set it themselves.
    """
    if not items:
        return
    start = connection.execute(select(func.count()).where(item.c.queue_id == queue_id)).scalar_one()
    rows = [
        {
            "queue_id": queue_id,
            "place": place,
            "example": new.example,
            "class": new.class_id,
            "stratum": new.stratum,
            "missing": needed if new.needed is None else new.needed,
            "needed": needed if new.needed is None else new.needed,
            "content": new.content,
        }
        for place, new in enumerate(items, start)
    ]
    connection.execute(insert(item), rows)
    connection.execute(insert(block).values(queue_id=queue_id, start=start, size=len(rows)))


def own_place(turn: int, *, size: int, key: str) -> int:
    """The position of the item at a turn, in a permutation of ``size`` items that is determined by a key.

    A Feistel network over the next power of four, iterated until the position is in range: a permutation of all items.

    >>> sorted(own_place(turn, size=5, key="Ada") for turn in range(5))
    [0, 1, 2, 3, 4]
    """
    half = max(1, (size - 1).bit_length() + 1 >> 1)
    place = turn
    while True:
        place = _mixed(place, half, key)
        if place < size:
            return place


def _mixed(place: int, half: int, key: str) -> int:
    mask = (1 << half) - 1
    left, right = place >> half, place & mask
    for number in range(_ROUNDS):
        digest = hashlib.blake2b(f"{number} {right} {key}".encode(), digest_size=8).digest()
        left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
    return left << half | right
