"""Where people are asked about a image."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select

from regrade.ledger.record_mapping import record_of
from regrade.ledger.records import Item, Queue
from regrade.ledger.schema import item, queue


@dataclass(frozen=True)
class QueuedImage:
    """An item about a image, and the queue it is in."""

    queue: Queue
    item: Item


def asked_about(engine: Engine, test_set: str, example: str) -> tuple[QueuedImage, ...]:
    """Every item about a image of a test set, oldest queue first."""
    with engine.connect() as connection:
        mine = connection.execute(select(queue).where(queue.c.test_set == test_set).order_by(queue.c.id)).mappings()
        found = []
        for of in [record_of(Queue, row) for row in mine]:
            # one queue at a time: its unique constraint on images and classes is the index for it
            here = select(item).where(item.c.queue_id == of.id, item.c.example == example).order_by(item.c.place)
            found += [QueuedImage(of, record_of(Item, row)) for row in connection.execute(here).mappings()]
        return tuple(found)
