"""Discussion: what a panel is not at one about, who says what, and what was decided; nothing before all have voted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, RowMapping, Select, exists, func, select

from regrade.core import UnknownName
from regrade.ledger.current_votes import STANDS
from regrade.ledger.database import snapshot
from regrade.ledger.decisions import REOPENED
from regrade.ledger.overview import is_decided
from regrade.ledger.record_mapping import record_of
from regrade.ledger.records import Comment, Decision, Item, Person, Queue, Vote
from regrade.ledger.schema import comment, decision, item, vote

_OPEN = item.c.missing <= 0
_Value = TypeVar("_Value")


class Stage(Enum):
    """How far the discussion of an item is."""

    DISPUTED = "discuss"
    """All have voted, not alike, and no one has decided."""
    DECIDED = "decided"
    """There is a decision that stands."""


@dataclass(frozen=True)
class TopicFilter:
    """Which items are wanted: at a stage, of one class or any, and where someone, or the decision, says ``answer``."""

    stage: Stage = Stage.DISPUTED
    class_id: str = ""
    answer: str = ""


@dataclass(frozen=True)
class Topic:
    """An item in a list: the votes that stand, how many comments it has, and the decision, if there is one."""

    item: Item
    votes: tuple[Vote, ...]
    comments: int
    decision: Decision | None


@dataclass(frozen=True)
class Discussion:
    """All that someone may see of an item: every vote ever cast, comments and decisions, oldest first.

    It is ``open`` once no vote is missing; until then there is nothing but their own votes.
    """

    item: Item
    open: bool
    votes: tuple[Vote, ...]
    comments: tuple[Comment, ...]
    decisions: tuple[Decision, ...]

    @property
    def standing(self) -> tuple[Vote, ...]:
        """The votes that count."""
        replaced = {one.replaces for one in self.votes}
        return tuple(one for one in self.votes if one.id not in replaced and one.answer is not None)

    @property
    def decision(self) -> Decision | None:
        """The decision that stands, if there is one."""
        last = self.decisions[-1] if self.decisions else None
        return None if last is None or last.reached == REOPENED else last


class Discussions:
    """The discussions in a ledger's queues, many items at once and few questions to the database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def count(self, of: Queue, wanted: TopicFilter) -> int:
        """How many items are wanted."""
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(_items(of.id, wanted).subquery())).scalar_one()

    def topics(self, of: Queue, wanted: TopicFilter, *, start: int = 0, count: int = 100) -> tuple[Topic, ...]:
        """The items that are wanted, in the order of the queue, from one on."""
        some = _items(of.id, wanted).order_by(item.c.place).offset(start).limit(count)
        with snapshot(self.engine) as connection:
            items = [record_of(Item, row) for row in connection.execute(some).mappings()]
            return _topics(connection, items)

    def classes(self, of: Queue, stage: Stage) -> Mapping[str, int]:
        """How many items of a stage ask about each class."""
        some = _items(of.id, TopicFilter(stage)).subquery()
        column = some.c["class"]
        with self.engine.connect() as connection:
            return dict(connection.execute(select(column, func.count()).group_by(column).order_by(column)).all())

    def after(self, item_id: int, wanted: TopicFilter) -> int | None:
        """The next item that is wanted, in the order of the queue."""
        return self._beside(item_id, wanted, forward=True)

    def before(self, item_id: int, wanted: TopicFilter) -> int | None:
        """The item before it that is wanted."""
        return self._beside(item_id, wanted, forward=False)

    def seen_by(self, item_id: int, viewer: Person) -> Discussion:
        """What someone may see of an item, as it is at one moment."""
        with snapshot(self.engine) as connection:
            found = record_of(Item, _item(connection, item_id))
            is_open = found.missing <= 0
            votes = [record_of(Vote, row) for row in _of_items(connection, vote, [item_id])]
            said, decided = (
                _of_items(connection, table, [item_id]) if is_open else () for table in (comment, decision)
            )
            return Discussion(
                found,
                is_open,
                tuple(one for one in votes if is_open or one.person_id == viewer.id),
                tuple(record_of(Comment, row) for row in said),
                tuple(record_of(Decision, row) for row in decided),
            )

    def pair_elsewhere(self, of: Item, queues: Iterable[Queue]) -> tuple[Item, ...]:
        """The items of other queues that ask about the same image and class."""
        same = item.c.example == of.example, item.c["class"] == of.class_id
        found = select(item).where(item.c.queue_id.in_([one.id for one in queues]), *same).order_by(item.c.id)
        with self.engine.connect() as connection:
            return tuple(record_of(Item, row) for row in connection.execute(found).mappings())

    def _beside(self, item_id: int, wanted: TopicFilter, *, forward: bool) -> int | None:
        with self.engine.connect() as connection:
            here = _item(connection, item_id)
            some = _items(here["queue_id"], wanted)
            if forward:
                some = some.where(item.c.place > here["place"]).order_by(item.c.place)
            else:
                some = some.where(item.c.place < here["place"]).order_by(item.c.place.desc())
            found = connection.execute(some.limit(1)).mappings().first()
        return None if found is None else int(found["id"])


def last_comment(connection: Connection, item_id: int) -> RowMapping | None:
    """What was said last of an item."""
    found = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id.desc()).limit(1)
    return connection.execute(found).mappings().first()


def _items(queue_id: int, wanted: TopicFilter) -> Select[Any]:
    found = select(item).where(item.c.queue_id == queue_id, _OPEN)
    if wanted.class_id:
        found = found.where(item.c["class"] == wanted.class_id)
    if wanted.stage is Stage.DECIDED:
        return found.where(is_decided(wanted.answer))
    if wanted.answer:
        said = select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.answer == wanted.answer, STANDS)
        found = found.where(exists(said))
    return found.where(~is_decided())


def _topics(connection: Connection, items: list[Item]) -> tuple[Topic, ...]:
    numbers = [one.id for one in items if one.missing <= 0]
    standing = connection.execute(select(vote).where(vote.c.item_id.in_(numbers), STANDS).order_by(vote.c.id))
    votes = _by_item((row["item_id"], record_of(Vote, row)) for row in standing.mappings())
    last = {row["item_id"]: record_of(Decision, row) for row in _of_items(connection, decision, numbers)}
    counted = select(comment.c.item_id, func.count()).where(comment.c.item_id.in_(numbers)).group_by(comment.c.item_id)
    comments: dict[int, int] = dict(connection.execute(counted).all())
    stand = {number: one for number, one in last.items() if one.reached != REOPENED}
    return tuple(Topic(one, tuple(votes.get(one.id, ())), comments.get(one.id, 0), stand.get(one.id)) for one in items)


def _by_item(pairs: Iterable[tuple[int, _Value]]) -> dict[int, list[_Value]]:
    found: dict[int, list[_Value]] = {}
    for number, one in pairs:
        found.setdefault(number, []).append(one)
    return found


def _of_items(connection: Connection, table: Any, numbers: list[int]) -> Iterable[RowMapping]:
    found = select(table).where(table.c.item_id.in_(numbers)).order_by(table.c.id)
    return connection.execute(found).mappings().all()


def _item(connection: Connection, item_id: int) -> RowMapping:
    found = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
    if found is None:
        raise UnknownName("item", str(item_id), None)
    return found
