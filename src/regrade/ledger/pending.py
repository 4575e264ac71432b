"""A cache of the items that are pending for each person, updated from new votes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from threading import Lock

import numpy as np
from sqlalchemy import Connection, Engine, bindparam, func, select

from regrade.core.arrays import BoolArray
from regrade.ledger.database import snapshot
from regrade.ledger.queue_order import ANSWERED
from regrade.ledger.queues import queue_sizes
from regrade.ledger.records import Person
from regrade.ledger.schema import IS_CURRENT, item, overlap_change, vote

_MOST_ITEMS = 64_000_000  # items in the cache, of all people and queues, one byte each
_OVERLAP = 64  # recent votes that are read again: PostgreSQL may commit votes in another order than that of their ids
_MOST_NEW = 5_000  # maximum number of new votes for which items are updated one by one


class PendingUntil(Enum):
    """How long an item is pending for a person who may work on its queue."""

    ANSWERED = auto()
    """Until they have answered it."""
    SETTLED = auto()
    """Until they have answered it, or no vote is missing."""
    COMPLETE = auto()
    """Until no vote is missing, whether they have answered it or not."""


@dataclass(frozen=True, eq=False)
class _Cached:
    """The pending items (n,) of a queue in its order, and the newest vote and overlap change taken into account."""

    pending: BoolArray
    newest_vote: int
    newest_change: int


class PendingItems:
    """The pending items by person and queue: read once, then updated from new votes and items.

    The lock is held for the cache only, never during a query. Of two requests of a person at once, the one that ends
    last is kept; it may be the one with fewer votes, which the next request then reads again.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache: OrderedDict[tuple[int, int, PendingUntil], _Cached] = OrderedDict()
        self._lock = Lock()

    def of(self, person: Person, queues: Mapping[int, PendingUntil]) -> dict[int, BoolArray]:
        """Which items (n,) of each queue, by its id, are pending for a person; the arrays are read-only."""
        if not queues:
            return {}
        with snapshot(self._engine) as connection:
            sizes = queue_sizes(connection, list(queues))
            newest_vote, newest_change = connection.execute(_NEWEST).one()
            cached = {
                queue_id: self._recent((person.id, queue_id, until), newest_vote, newest_change)
                or _Cached(
                    _read(connection, queue_id, person.id, until, sizes.get(queue_id, 0)), newest_vote, newest_change
                )
                for queue_id, until in queues.items()
            }
            grown = {queue_id: _grown(state.pending, sizes.get(queue_id, 0)) for queue_id, state in cached.items()}
            since = min(state.newest_vote for state in cached.values()) - _OVERLAP
            updated = _updated(connection, grown, queues, person_id=person.id, since=since)
        for queue_id, until in queues.items():
            self._store((person.id, queue_id, until), _Cached(updated[queue_id], newest_vote, newest_change))
        return updated

    def _recent(self, key: tuple[int, int, PendingUntil], newest_vote: int, newest_change: int) -> _Cached | None:
        """The cached state, unless an overlap has changed or there are so many new votes that rereading is cheaper."""
        with self._lock:
            cached = self._cache.get(key)
        if cached is None or cached.newest_change != newest_change:
            return None
        return cached if newest_vote - cached.newest_vote <= _MOST_NEW else None

    def _store(self, key: tuple[int, int, PendingUntil], state: _Cached) -> None:
        state.pending.setflags(write=False)
        with self._lock:
            self._cache[key] = state
            self._cache.move_to_end(key)
            while len(self._cache) > 1 and sum(len(cached.pending) for cached in self._cache.values()) > _MOST_ITEMS:
                self._cache.popitem(last=False)


_NEWEST = select(
    func.coalesce(select(func.max(vote.c.id)).scalar_subquery(), 0),
    func.coalesce(select(func.max(overlap_change.c.id)).scalar_subquery(), 0),
)
_IN_QUEUE = item.c.queue_id == bindparam("in_queue")
_WITH_MISSING = select(item.c.place).where(_IN_QUEUE, item.c.missing > 0)
_ANSWERED_PLACES = (
    select(item.c.place)
    .join(vote, vote.c.item_id == item.c.id)
    .where(_IN_QUEUE, vote.c.person_id == bindparam("person"), IS_CURRENT)
)
_NEW_VOTES = select(vote.c.item_id).where(vote.c.id > bindparam("since")).distinct().cte("new_votes")
_CHANGED = select(item.c.queue_id, item.c.place, item.c.missing, ANSWERED.label("answered")).join(
    _NEW_VOTES, _NEW_VOTES.c.item_id == item.c.id
)  # no condition on the queue: with one, SQLite would scan the queue's items instead of the new votes


def _read(connection: Connection, queue_id: int, person_id: int, until: PendingUntil, size: int) -> BoolArray:
    """The pending items of a queue, read from the database."""
    where = {"in_queue": queue_id, "person": person_id}
    pending = np.full(size, until is PendingUntil.ANSWERED)
    if until is not PendingUntil.ANSWERED:
        pending[connection.execute(_WITH_MISSING, where).scalars().all()] = True
    if until is not PendingUntil.COMPLETE:
        pending[connection.execute(_ANSWERED_PLACES, where).scalars().all()] = False
    return pending


def _grown(pending: BoolArray, size: int) -> BoolArray:
    """A copy with the items that were added since, which no one has answered yet."""
    return np.concatenate([pending, np.ones(size - len(pending), dtype=bool)])


def _updated(
    connection: Connection,
    pending: Mapping[int, BoolArray],
    queues: Mapping[int, PendingUntil],
    *,
    person_id: int,
    since: int,
) -> dict[int, BoolArray]:
    """Update the items with votes newer than the vote ``since``."""
    rows = connection.execute(_CHANGED, {"since": since, "reviewer_id": person_id})
    for queue_id, place, missing, answered in rows:
        if queue_id in queues:
            pending[queue_id][place] = _is_pending(queues[queue_id], missing=missing, answered=answered)
    return dict(pending)


def _is_pending(until: PendingUntil, *, missing: int, answered: bool) -> bool:
    match until:
        case PendingUntil.ANSWERED:
            return not answered
        case PendingUntil.SETTLED:
            return missing > 0 and not answered
        case PendingUntil.COMPLETE:
            return missing > 0
