"""The items of queues: added, given to people one after another, and looked up by id or image."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, bindparam, func, select, true, update

from regrade.core import UnknownName
from regrade.ledger import queue_order
from regrade.ledger.database import writing, writing_unsynced
from regrade.ledger.questions import Question
from regrade.ledger.queues import OPEN_QUEUE
from regrade.ledger.records import Item, NewItem, Person, Queue, image_mark, image_set, may_answer, record_of
from regrade.ledger.schema import item, now_in_utc, queue, vote
from regrade.ledger.voting import locked_item

_QUEUE_NAMES, _ITEM_NAMES = queue.c.keys(), item.c.keys()
_ITEM_IN_QUEUE = OPEN_QUEUE.add_columns(*item.c).outerjoin(
    item, (item.c.id == bindparam("item_id")) & (item.c.queue_id == queue.c.id)
)


@dataclass(frozen=True)
class ItemImage:
    """The image of an item: its id in the queue's test set, the item's class, and a hash of its pixels if known."""

    example: str
    class_id: str
    content: str | None


@dataclass(frozen=True)
class QueuedImage:
    """An item about an image, and the queue it is in."""

    queue: Queue
    item: Item


@dataclass(frozen=True)
class VotedImage:
    """The image of an item that a person has voted on, its queue, and when they voted on it for the first time."""

    queue: Queue
    image: ItemImage
    at: datetime

    @property
    def test_set(self) -> str:
        """The test set of the image."""
        return image_set(self.queue, self.image.class_id)


class Items:
    """The items of a ledger's queues. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add(self, to: Queue, items: Iterable[NewItem]) -> int:
        """Append items to a queue and return how many are new; items that it already has are skipped."""
        with writing(self.engine) as connection:
            queue_order.lock_queue(connection, to.id)
            stored = set(connection.execute(_pairs(to.id)))
            by_pair = {(new.example, new.class_id): new for new in items}
            new_items = [new for pair, new in by_pair.items() if pair not in stored]
            needed = connection.execute(select(queue.c.overlap).where(queue.c.id == to.id)).scalar_one()
            queue_order.append_items(connection, to.id, new_items, needed=needed)
        return len(new_items)

    def next(self, of: Queue, to: Person, *, after: int | None = None, without: Collection[int] = ()) -> Item | None:
        """Give a person their next item, reserved for them for a while; None if nothing is left.

        ``after`` is the id of the item they are working on: the result is the item that follows it. Items at the places
        ``without`` are not given.
        """
        with writing_unsynced(self.engine) as connection:
            row = queue_order.next_item(connection, of.id, to.id, now=self._now(), after=after, without=without)
        return None if row is None else record_of(Item, row)

    def release(self, item_id: int, by: Person) -> None:
        """End a person's reservation of an item, which others may get then."""
        with writing_unsynced(self.engine) as connection:
            queue_order.release(connection, item_id, by.id)

    def skip(self, item_id: int, by: Person) -> None:
        """Skip an item for a person; its reservation ends, and `return_skipped` brings it back."""
        with writing(self.engine) as connection:
            queue_order.skip_item(connection, locked_item(connection, item_id), by.id)

    def count_skipped(self, of: Queue, by: Person) -> int:
        """The number of items of a queue that a person has skipped and that still need their answer."""
        with self.engine.connect() as connection:
            return queue_order.count_skipped(connection, of.id, by.id)

    def return_skipped(self, of: Queue, by: Person) -> None:
        """Bring back the items of a queue that a person has skipped."""
        with writing(self.engine) as connection:
            queue_order.return_skipped(connection, of.id, by.id)

    def with_id(self, item_id: int) -> Item:
        """An item by its id."""
        with self.engine.connect() as connection:
            row = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
        if row is None:
            raise UnknownName("item", str(item_id), None)
        return record_of(Item, row)

    def for_person(self, by: Person, queue_id: int, item_id: int) -> tuple[Queue, Item]:
        """A queue and its item by their ids; raises if the person may not work on the queue."""
        with self.engine.connect() as connection:
            ids = {"queue_id": queue_id, "person_id": by.id, "item_id": item_id}
            row = connection.execute(_ITEM_IN_QUEUE, ids).first()
        if row is None:
            raise UnknownName("queue", str(queue_id), None)
        queue_record = record_of(Queue, dict(zip(_QUEUE_NAMES, row, strict=False)))
        if not may_answer(by.role, queue_record.question):
            raise UnknownName("queue", str(queue_id), None)
        item_row = dict(zip(_ITEM_NAMES, row[len(_QUEUE_NAMES) :], strict=True))
        if item_row["id"] is None:
            raise UnknownName("item", str(item_id), None)
        return queue_record, record_of(Item, item_row)

    def pairs(self, of: Queue) -> tuple[tuple[str, str], ...]:
        """The image id and class of every item of a queue."""
        with self.engine.connect() as connection:
            return tuple((example, class_id) for example, class_id in connection.execute(_pairs(of.id)))

    def images(self, of: Queue) -> tuple[ItemImage, ...]:
        """The images of a queue's items, in the order of the queue."""
        columns = (item.c.example, item.c["class"], item.c.content)
        images = select(*columns).where(item.c.queue_id == of.id).order_by(item.c.place)
        with self.engine.connect() as connection:
            return tuple(ItemImage(*row) for row in connection.execute(images).all())

    def test_sets(self, of: Queue) -> tuple[str, ...]:
        """The test sets of a queue's images: its own, then the others whose images it asks people to label."""
        if of.question is not Question.LABEL:
            return (of.test_set,)
        marks = select(item.c["class"]).where(item.c.queue_id == of.id).distinct().order_by(item.c["class"])
        with self.engine.connect() as connection:
            return tuple(dict.fromkeys([of.test_set, *filter(None, connection.execute(marks).scalars())]))

    def content_of(self, of: Queue, example: str, *, test_set: str | None = None) -> str | None:
        """The hash of an image of a queue, as queued; None if unknown. ``test_set`` is as for `store_contents`."""
        hashes = select(item.c.content).where(
            item.c.queue_id == of.id, item.c.example == example, item.c.content.is_not(None), _in_set(of, test_set)
        )
        with self.engine.connect() as connection:
            return connection.execute(hashes.limit(1)).scalar()

    def images_without_content(self, of: Queue, *, test_set: str | None = None) -> tuple[str, ...]:
        """The ids of a queue's images without a stored hash, each once, in the order of the queue.

        ``test_set`` is as for `store_contents`.
        """
        images = select(item.c.example).where(item.c.queue_id == of.id, item.c.content.is_(None), _in_set(of, test_set))
        with self.engine.connect() as connection:
            return tuple(dict.fromkeys(connection.execute(images.order_by(item.c.place)).scalars().all()))

    def store_contents(self, of: Queue, contents: Mapping[str, str], *, test_set: str | None = None) -> None:
        """Store hashes of images, by example id, for the items of a queue that have none yet.

        They are images of ``test_set``, one of those in `test_sets` (default: the queue's own).
        """
        stored = update(item).where(
            item.c.queue_id == of.id,
            item.c.example == bindparam("image_id"),
            item.c.content.is_(None),
            _in_set(of, test_set),
        )
        rows = [{"image_id": example, "content_hash": content} for example, content in contents.items()]
        if rows:
            with writing(self.engine) as connection:
                connection.execute(stored.values(content=bindparam("content_hash")), rows)

    def about_image(self, test_set: str, example: str) -> tuple[QueuedImage, ...]:
        """Every item about an image of a test set, oldest queue first."""
        may_ask = (queue.c.test_set == test_set) | (queue.c.question == Question.LABEL.name)
        with self.engine.connect() as connection:
            rows = connection.execute(select(queue).where(may_ask).order_by(queue.c.id)).mappings()
            queued: list[QueuedImage] = []
            for of in [record_of(Queue, row) for row in rows]:
                # one query per queue uses the index of its unique constraint on images and classes
                items = select(item).where(item.c.queue_id == of.id, item.c.example == example, _in_set(of, test_set))
                rows_of_queue = connection.execute(items.order_by(item.c.place)).mappings()
                queued += [QueuedImage(of, record_of(Item, row)) for row in rows_of_queue]
            return tuple(queued)

    def voted_on(self, by: Person) -> tuple[VotedImage, ...]:
        """Every image on which a person has ever voted, also if they took the vote back, with its queue."""
        columns = (item.c.queue_id, item.c.example, item.c["class"], item.c.content)
        votes = select(func.min(vote.c.at), *columns).join(vote, vote.c.item_id == item.c.id)
        images = votes.where(vote.c.person_id == by.id).group_by(item.c.id, *columns)
        with self.engine.connect() as connection:
            queues = {row["id"]: record_of(Queue, row) for row in connection.execute(select(queue)).mappings()}
            rows = connection.execute(images.order_by(item.c.queue_id, item.c.example, item.c["class"]))
            return tuple(VotedImage(queues[queue_id], ItemImage(*image), at) for at, queue_id, *image in rows)


def _in_set(of: Queue, test_set: str | None) -> ColumnElement[bool]:
    """Whether an item of a queue is about an image of a test set, one of those in `Items.test_sets`."""
    if of.question is not Question.LABEL:
        return true()
    return item.c["class"] == image_mark(of, test_set or of.test_set)


def _pairs(queue_id: int) -> Select[Any]:
    return select(item.c.example, item.c["class"]).where(item.c.queue_id == queue_id)
