"""Items at the end of a queue."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, insert, select

from regrade.ledger.records import NewItem
from regrade.ledger.schema import block, item


def append_items(connection: Connection, queue_id: int, items: Sequence[NewItem], *, needed: int) -> None:
    """Put items that a queue does not have yet at its end, as a block of its own; the queue must be locked.

    Each needs so many votes, unless it says itself how many.
    """
    if not items:
        return
    start = connection.execute(select(func.count()).where(item.c.queue_id == queue_id)).scalar_one()
    rows = [
        {
            "queue_id": queue_id,
            "place": place,
            "example": one.example,
            "class": one.class_id,
            "stratum": one.stratum,
            "missing": one.needed or needed,
            "needed": one.needed or needed,
            "content": one.content,
        }
        for place, one in enumerate(items, start)
    ]
    connection.execute(insert(item), rows)
    connection.execute(insert(block).values(queue_id=queue_id, start=start, size=len(rows)))
