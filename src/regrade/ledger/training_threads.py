"""Discussion of images in training: seen and written by the people who have answered about the image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, RowMapping, Select, bindparam, exists, select

from regrade.core import InputError
from regrade.ledger.database import snapshot
from regrade.ledger.discussion import Discussions
from regrade.ledger.records import Comment, Item, Person, Queue, record_of
from regrade.ledger.schema import IS_CURRENT, comment, item, vote

_ANSWERED = (
    select(item, vote.c.answer.label("own"))
    .join(vote, vote.c.item_id == item.c.id)
    .where(vote.c.person_id == bindparam("viewer_id"), IS_CURRENT)
)
_DISCUSSED = _ANSWERED.where(exists(select(comment.c.id).where(comment.c.item_id == item.c.id)))


@dataclass(frozen=True)
class TrainingThread:
    """The discussion of an item in training: the viewer's ``own`` answer, and the comments, oldest first."""

    item: Item
    own: str
    comments: tuple[Comment, ...]


class TrainingThreads:
    """The discussions of items in training, which people see as long as their own answer stands."""

    def __init__(self, engine: Engine, discussions: Discussions) -> None:
        self.engine = engine
        self._discussions = discussions

    def of_item(self, item_id: int, viewer: Person) -> TrainingThread:
        """The discussion of an item; raises if the person has no answer to it."""
        with snapshot(self.engine) as connection:
            rows = connection.execute(_ANSWERED.where(item.c.id == item_id), {"viewer_id": viewer.id}).mappings().all()
            comments = connection.execute(_comments([item_id])).mappings().all()
        if not rows:
            raise InputError("answer about this image first: its discussion is shown then")
        return _thread(rows[0], comments)

    def of_queue(self, of: Queue, viewer: Person) -> tuple[TrainingThread, ...]:
        """The items of a queue with comments that a person has answered, the newest comment first."""
        with snapshot(self.engine) as connection:
            rows = connection.execute(_DISCUSSED.where(item.c.queue_id == of.id), {"viewer_id": viewer.id}).mappings()
            items = {row["id"]: row for row in rows}
            comments = connection.execute(_comments(items)).mappings().all()
        threads = [
            _thread(row, [row_of_comment for row_of_comment in comments if row_of_comment["item_id"] == number])
            for number, row in items.items()
        ]
        return tuple(sorted(threads, key=lambda thread: thread.comments[-1].id, reverse=True))

    def comment(self, item_id: int, by: Person, text: str) -> TrainingThread:
        """Comment on an item that the person has answered, and return its discussion."""
        self.of_item(item_id, by)
        self._discussions.comment(item_id, by, text)
        return self.of_item(item_id, by)


def _comments(item_ids: Iterable[int]) -> Select[Any]:
    return select(comment).where(comment.c.item_id.in_(list(item_ids))).order_by(comment.c.id)


def _thread(row: RowMapping, comments: Iterable[RowMapping]) -> TrainingThread:
    return TrainingThread(
        record_of(Item, row), row["own"], tuple(record_of(Comment, row_of_comment) for row_of_comment in comments)
    )
