"""Discussion of items: their votes, comments and decisions, hidden from a person until all have voted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, Select, bindparam, exists, func, insert, select

from regrade.core import InputError, UnknownName
from regrade.ledger.chain import extend_chain
from regrade.ledger.database import added_row, snapshot, writing
from regrade.ledger.decisions import IS_IN_FORCE, REOPENED, is_decided
from regrade.ledger.queue_order import REPORTED
from regrade.ledger.records import Comment, Decision, Item, Person, Queue, Vote, record_of
from regrade.ledger.schema import IS_CURRENT, comment, decision, item, now_in_utc, vote
from regrade.ledger.voting import locked_item

_OPEN = item.c.missing <= 0
_STANDINGS = (
    select(
        item,
        func.coalesce(vote.c.answer, "").label("own"),
        func.coalesce(vote.c.reason, "").label("reason"),
        func.coalesce(decision.c.answer, "").label("decision"),
        decision.c.person_id.is_not(None).label("locked"),
        REPORTED.label("reported"),
    )
    .select_from(item)
    .outerjoin(vote, (vote.c.item_id == item.c.id) & (vote.c.person_id == bindparam("reviewer_id")) & IS_CURRENT)
    .outerjoin(decision, (decision.c.item_id == item.c.id) & _OPEN & IS_IN_FORCE)
)


class Stage(Enum):
    """The stage of an item's discussion."""

    DISPUTED = "discuss"
    """All have voted, the votes differ, and there is no decision."""
    DECIDED = "decided"
    """There is a current decision."""


@dataclass(frozen=True)
class TopicFilter:
    """Selects items by stage, class (empty for any) and answer, of a vote or of the decision (empty for any)."""

    stage: Stage = Stage.DISPUTED
    class_id: str = ""
    answer: str = ""


class OpenItem(NamedTuple):
    """An item that all have voted on: its id, its image and its class."""

    id: int
    example: str
    class_id: str


@dataclass(frozen=True)
class Topic:
    """An item in a list: its current votes, its number of comments, and its decision, if any."""

    item: Item
    votes: tuple[Vote, ...]
    comments: int
    decision: Decision | None


@dataclass(frozen=True)
class ItemStanding:
    """An item as one person sees it: their own answer with its reason, and the decision once no vote is missing.

    These are empty if there are none. A ``locked`` decision was made by a person, so that it has to be reopened before
    a vote can change. ``reported`` is whether the person reported the image as unreadable.
    """

    item: Item
    own: str
    reason: str
    decision: str
    locked: bool
    reported: bool

    @property
    def open(self) -> bool:
        """Whether the person still has to vote on it."""
        return not self.own and self.item.missing > 0 and not self.reported


@dataclass(frozen=True)
class Discussion:
    """What a person may see of an item: every vote ever cast, comments and decisions, oldest first.

    It is ``open`` once no vote is missing; until then it contains only the person's own votes.
    """

    item: Item
    open: bool
    votes: tuple[Vote, ...]
    comments: tuple[Comment, ...]
    decisions: tuple[Decision, ...]

    @property
    def standing(self) -> tuple[Vote, ...]:
        """The current votes: neither replaced nor retracted."""
        replaced = {vote.replaces for vote in self.votes}
        return tuple(vote for vote in self.votes if vote.id not in replaced and vote.answer is not None)

    @property
    def decision(self) -> Decision | None:
        """The current decision, if any."""
        last = self.decisions[-1] if self.decisions else None
        return None if last is None or last.reached == REOPENED else last


class Discussions:
    """The discussions in a ledger's queues. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def comment(self, item_id: int, by: Person, text: str) -> Comment:
        """Comment on an item; repeating one's own last comment returns that comment."""
        if not text.strip():
            raise InputError("the comment is empty: write some text")
        row = insert(comment).values(item_id=item_id, person_id=by.id, text=text.strip(), at=self._now())
        with writing(self.engine) as connection:
            locked_item(connection, item_id)
            last = _last_comment(connection, item_id)
            if last is not None and (last["person_id"], last["text"]) == (by.id, text.strip()):
                return record_of(Comment, last)
            added = added_row(connection, row, comment, "this item does not exist")
            extend_chain(connection, comment, [added])
            return record_of(Comment, added)

    def items(self, of: Queue, topic_filter: TopicFilter) -> tuple[OpenItem, ...]:
        """The items that pass the filter, in the order of the queue."""
        columns = item.c.id, item.c.example, item.c["class"]
        listed = _items(of.id, topic_filter).with_only_columns(*columns).order_by(item.c.place)
        with self.engine.connect() as connection:
            return tuple(OpenItem(*row) for row in connection.execute(listed))

    def topics(self, items: Iterable[OpenItem]) -> tuple[Topic, ...]:
        """The votes, comments and decisions of items, in the order of the queue."""
        chosen = select(item).where(item.c.id.in_([listed.id for listed in items])).order_by(item.c.place)
        with snapshot(self.engine) as connection:
            return _topics(connection, [record_of(Item, row) for row in connection.execute(chosen).mappings()])

    def standings(self, of: Queue, viewer: Person, *, class_id: str = "") -> tuple[ItemStanding, ...]:
        """All items of a queue, or those of a class, as one person sees them, in the order of the queue."""
        listed = _STANDINGS.where(item.c.queue_id == of.id)
        if class_id:
            listed = listed.where(item.c["class"] == class_id)
        with self.engine.connect() as connection:
            rows = connection.execute(listed.order_by(item.c.place), {"reviewer_id": viewer.id}).mappings()
            return tuple(
                ItemStanding(
                    record_of(Item, row),
                    row["own"],
                    row["reason"],
                    row["decision"],
                    bool(row["locked"]),
                    bool(row["reported"]),
                )
                for row in rows
            )

    def after(self, item_id: int, topic_filter: TopicFilter) -> int | None:
        """The id of the next item of the queue that passes the filter."""
        return self._neighbor(item_id, topic_filter, forward=True)

    def before(self, item_id: int, topic_filter: TopicFilter) -> int | None:
        """The id of the previous item of the queue that passes the filter."""
        return self._neighbor(item_id, topic_filter, forward=False)

    def seen_by(self, item_id: int, viewer: Person) -> Discussion:
        """What a person may see of an item, read in one snapshot."""
        with snapshot(self.engine) as connection:
            viewed = record_of(Item, _item(connection, item_id))
            is_open = viewed.missing <= 0
            votes = [record_of(Vote, row) for row in _rows_of_items(connection, vote, [item_id])]
            comments, decisions = (
                _rows_of_items(connection, table, [item_id]) if is_open else () for table in (comment, decision)
            )
            return Discussion(
                viewed,
                is_open,
                tuple(cast for cast in votes if is_open or cast.person_id == viewer.id),
                tuple(record_of(Comment, row) for row in comments),
                tuple(record_of(Decision, row) for row in decisions),
            )

    def items_about_same_pair(self, of: Item, queues: Iterable[Queue]) -> tuple[Item, ...]:
        """The items of these queues with the same image and class."""
        same_pair = item.c.example == of.example, item.c["class"] == of.class_id
        in_queues = item.c.queue_id.in_([queue.id for queue in queues])
        with self.engine.connect() as connection:
            rows = connection.execute(select(item).where(in_queues, *same_pair).order_by(item.c.id)).mappings()
            return tuple(record_of(Item, row) for row in rows)

    def _neighbor(self, item_id: int, topic_filter: TopicFilter, *, forward: bool) -> int | None:
        with self.engine.connect() as connection:
            start = _item(connection, item_id)
            items = _items(start["queue_id"], topic_filter)
            if forward:
                items = items.where(item.c.place > start["place"]).order_by(item.c.place)
            else:
                items = items.where(item.c.place < start["place"]).order_by(item.c.place.desc())
            neighbor = connection.execute(items.limit(1)).mappings().first()
        return None if neighbor is None else int(neighbor["id"])


def _last_comment(connection: Connection, item_id: int) -> RowMapping | None:
    newest = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id.desc()).limit(1)
    return connection.execute(newest).mappings().first()


def _items(queue_id: int, topic_filter: TopicFilter) -> Select[Any]:
    items = select(item).where(item.c.queue_id == queue_id, _OPEN)
    if topic_filter.class_id:
        items = items.where(item.c["class"] == topic_filter.class_id)
    answer = topic_filter.answer
    if topic_filter.stage is Stage.DECIDED:
        return items.where(is_decided(answer))
    if answer:
        votes = select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.answer == answer, IS_CURRENT)
        items = items.where(exists(votes))
    return items.where(~is_decided())


def _topics(connection: Connection, items: list[Item]) -> tuple[Topic, ...]:
    item_ids = [open_item.id for open_item in items if open_item.missing <= 0]
    current = connection.execute(select(vote).where(vote.c.item_id.in_(item_ids), IS_CURRENT).order_by(vote.c.id))
    votes: dict[int, list[Vote]] = {}
    for row in current.mappings():
        votes.setdefault(row["item_id"], []).append(record_of(Vote, row))
    last = {row["item_id"]: record_of(Decision, row) for row in _rows_of_items(connection, decision, item_ids)}
    decisions = {item_id: newest for item_id, newest in last.items() if newest.reached != REOPENED}
    counted = select(comment.c.item_id, func.count()).where(comment.c.item_id.in_(item_ids)).group_by(comment.c.item_id)
    comments: dict[int, int] = dict(connection.execute(counted).all())
    return tuple(
        Topic(listed, tuple(votes.get(listed.id, ())), comments.get(listed.id, 0), decisions.get(listed.id))
        for listed in items
    )


def _rows_of_items(connection: Connection, table: Any, item_ids: list[int]) -> Iterable[RowMapping]:
    rows = select(table).where(table.c.item_id.in_(item_ids)).order_by(table.c.id)
    return connection.execute(rows).mappings().all()


def _item(connection: Connection, item_id: int) -> RowMapping:
    row = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
    if row is None:
        raise UnknownName("item", str(item_id), None)
    return row
