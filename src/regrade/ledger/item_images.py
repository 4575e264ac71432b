"""The images of a queue's items, the hashes of their pixels, and the items about an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, bindparam, select, update

from regrade.ledger.database import writing
from regrade.ledger.records import Item, Queue, record_of
from regrade.ledger.schema import item, queue


@dataclass(frozen=True)
class ItemImage:
    """The image of an item: its id in the queue's test set, and a hash of its pixels, or None if unknown."""

    example: str
    content: str | None


def item_images(engine: Engine, queue_id: int) -> tuple[ItemImage, ...]:
    """The images of a queue's items, in the order of the queue."""
    images = select(item.c.example, item.c.content).where(item.c.queue_id == queue_id).order_by(item.c.place)
    with engine.connect() as connection:
        return tuple(ItemImage(example, content) for example, content in connection.execute(images).all())


def images_without_content(engine: Engine, queue_id: int) -> tuple[str, ...]:
    """The ids of a queue's images without a stored hash, each once, in the order of the queue."""
    images = select(item.c.example).where(item.c.queue_id == queue_id, item.c.content.is_(None)).order_by(item.c.place)
    with engine.connect() as connection:
        return tuple(dict.fromkeys(connection.execute(images).scalars().all()))


_STORE = (
    update(item)
    .where(item.c.queue_id == bindparam("in_queue"), item.c.example == bindparam("image_id"), item.c.content.is_(None))
    .values(content=bindparam("content_hash"))
)


def store_contents(engine: Engine, queue_id: int, contents: Mapping[str, str]) -> None:
    """Store hashes of images, by example id, for the items of a queue that have none yet."""
    rows = [
        {"in_queue": queue_id, "image_id": example, "content_hash": content} for example, content in contents.items()
    ]
    if rows:
        with writing(engine) as connection:
            connection.execute(_STORE, rows)


@dataclass(frozen=True)
class QueuedImage:
    """An item about an image, and the queue it is in."""

    queue: Queue
    item: Item


def items_about_image(engine: Engine, test_set: str, example: str) -> tuple[QueuedImage, ...]:
    """Every item about an image of a test set, oldest queue first."""
    with engine.connect() as connection:
        rows = connection.execute(select(queue).where(queue.c.test_set == test_set).order_by(queue.c.id)).mappings()
        queued: list[QueuedImage] = []
        for of in [record_of(Queue, row) for row in rows]:
            # one query per queue uses the index of its unique constraint on images and classes
            items = select(item).where(item.c.queue_id == of.id, item.c.example == example).order_by(item.c.place)
            queued += [QueuedImage(of, record_of(Item, row)) for row in connection.execute(items).mappings()]
        return tuple(queued)
