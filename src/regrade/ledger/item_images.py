"""The images that a queue asks about, with a hash of each one's content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, bindparam, select, update

from regrade.ledger.database import writing
from regrade.ledger.schema import item


@dataclass(frozen=True)
class ItemImage:
    """The image of an item: its id in the queue's test set, and a hash of its pixels, none where it is not known."""

    example: str
    content: str | None


def item_images(engine: Engine, queue_id: int) -> tuple[ItemImage, ...]:
    """The images of a queue's items, in the order of the queue."""
    images = select(item.c.example, item.c.content).where(item.c.queue_id == queue_id).order_by(item.c.place)
    with engine.connect() as connection:
        return tuple(ItemImage(example, content) for example, content in connection.execute(images).all())


def images_without_content(engine: Engine, queue_id: int) -> tuple[str, ...]:
    """The examples that a queue asks about and whose content is not known, each once, in the order of the queue."""
    images = select(item.c.example).where(item.c.queue_id == queue_id, item.c.content.is_(None)).order_by(item.c.place)
    with engine.connect() as connection:
        return tuple(dict.fromkeys(connection.execute(images).scalars().all()))


_KEEP = (
    update(item)
    .where(item.c.queue_id == bindparam("in_queue"), item.c.example == bindparam("of"), item.c.content.is_(None))
    .values(content=bindparam("hashed"))
)


def keep_contents(engine: Engine, queue_id: int, contents: Mapping[str, str]) -> None:
    """Store the content of images, by example id, with those items of a queue that have none yet."""
    rows = [{"in_queue": queue_id, "of": example, "hashed": content} for example, content in contents.items()]
    if rows:
        with writing(engine) as connection:
            connection.execute(_KEEP, rows)
