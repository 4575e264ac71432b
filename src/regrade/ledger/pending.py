"""Which items still wait for someone's answer, kept up to date from the votes that are new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from threading import Lock

import numpy as np
from sqlalchemy import Connection, Engine, bindparam, func, select

from regrade.core.arrays import BoolArray
from regrade.ledger.current_votes import STANDS
from regrade.ledger.database import snapshot
from regrade.ledger.queue_order import ANSWERED
from regrade.ledger.records import Person
from regrade.ledger.schema import block, item, overlap_change, vote

_MOST_ITEMS = 64_000_000  # of all people and queues that are kept in memory, a byte each
_OVERLAP = 64  # votes that are looked at once more: PostgreSQL may commit them in another order than that of their ids
_MOST_NEW = 5_000  # votes up to which items are brought up to date one by one


class PendingUntil(Enum):
    """How long an item is pending for a person to whom its queue is open."""

    ANSWERED = auto()
    """Until they have answered it."""
    SETTLED = auto()
    """Until they have answered it, or no vote is missing."""
    COMPLETE = auto()
    """Until no vote is missing, whether they have answered it or not."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """The pending items (n,) of a queue in its order, and the newest vote and overlap change that they account for."""

    pending: BoolArray
    newest_vote: int
    newest_change: int


class PendingItems:
    """The items that are pending for people, read once and then changed only where there are new votes or items."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[int, int, PendingUntil], _Kept] = OrderedDict()
        self._lock = Lock()

    def of(self, person: Person, queues: Mapping[int, PendingUntil]) -> dict[int, BoolArray]:
        """For each queue, by its id, which of its items (n,) are pending for someone; not to be written to."""
        if not queues:
            return {}
        with self._lock, snapshot(self._engine) as connection:
            sizes = _sizes(connection, list(queues))
            newest_vote, newest_change = connection.execute(_NEWEST).one()
            kept = {
                queue_id: self._recent((person.id, queue_id, until), newest_vote, newest_change)
                or _Kept(
                    _read(connection, queue_id, person.id, until, sizes.get(queue_id, 0)), newest_vote, newest_change
                )
                for queue_id, until in queues.items()
            }
            grown = {queue_id: _grown(state.pending, sizes.get(queue_id, 0)) for queue_id, state in kept.items()}
            since = min(state.newest_vote for state in kept.values()) - _OVERLAP
            changed = _changed(connection, grown, queues, person_id=person.id, since=since)
            for queue_id, until in queues.items():
                self._keep((person.id, queue_id, until), _Kept(changed[queue_id], newest_vote, newest_change))
        return changed

    def _recent(self, key: tuple[int, int, PendingUntil], newest_vote: int, newest_change: int) -> _Kept | None:
        """What is kept of a queue, unless an overlap has changed, or so much is new that reading all is cheaper."""
        kept = self._kept.get(key)
        if kept is None or kept.newest_change != newest_change:
            return None
        return kept if newest_vote - kept.newest_vote <= _MOST_NEW else None

    def _keep(self, key: tuple[int, int, PendingUntil], state: _Kept) -> None:
        state.pending.setflags(write=False)
        self._kept[key] = state
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(len(kept.pending) for kept in self._kept.values()) > _MOST_ITEMS:
            self._kept.popitem(last=False)


_NEWEST = select(
    func.coalesce(select(func.max(vote.c.id)).scalar_subquery(), 0),
    func.coalesce(select(func.max(overlap_change.c.id)).scalar_subquery(), 0),
)
_IN_QUEUE = item.c.queue_id == bindparam("in_queue")
_WITH_MISSING = select(item.c.place).where(_IN_QUEUE, item.c.missing > 0)
_ANSWERED_PLACES = (
    select(item.c.place)
    .join(vote, vote.c.item_id == item.c.id)
    .where(_IN_QUEUE, vote.c.person_id == bindparam("person"), STANDS)
)
_NEW_VOTES = select(vote.c.item_id).where(vote.c.id > bindparam("since")).distinct().cte("new_votes")
_CHANGED = select(item.c.queue_id, item.c.place, item.c.missing, ANSWERED.label("answered")).join(
    _NEW_VOTES, _NEW_VOTES.c.item_id == item.c.id
)  # of all queues: a condition on the queue would have SQLite go through its items instead of the new votes


def queue_sizes(engine: Engine, queue_ids: Sequence[int]) -> dict[int, int]:
    """How many items each queue has; empty ones are left out."""
    with engine.connect() as connection:
        return _sizes(connection, queue_ids)


def _sizes(connection: Connection, queue_ids: Sequence[int]) -> dict[int, int]:
    total = select(block.c.queue_id, func.sum(block.c.size)).where(block.c.queue_id.in_(queue_ids))
    return {queue_id: int(size) for queue_id, size in connection.execute(total.group_by(block.c.queue_id))}


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
    """With the items that were added since, which no one has answered yet; a copy."""
    return np.concatenate([pending, np.ones(size - len(pending), dtype=bool)])


def _changed(
    connection: Connection,
    pending: Mapping[int, BoolArray],
    queues: Mapping[int, PendingUntil],
    *,
    person_id: int,
    since: int,
) -> dict[int, BoolArray]:
    """The pending items with those brought up to date that someone has voted on ``since`` a vote."""
    rows = connection.execute(_CHANGED, {"since": since, "whose": person_id})
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
