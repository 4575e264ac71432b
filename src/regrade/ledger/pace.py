"""How fast someone works through a queue, and what is left for them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from sqlalchemy import Connection, func, select

from regrade.ledger.current_votes import STANDS
from regrade.ledger.queue_order import ANSWERED, REPORTED
from regrade.ledger.schema import item, vote

_LOOKED_AT = 50  # votes, the newest ones


@dataclass(frozen=True)
class Pace:
    """Items that still want someone's answer, and the usual seconds they take for one, if it is known."""

    left: int
    seconds: float | None

    @property
    def time_left(self) -> float | None:
        """Seconds until they are through."""
        return None if self.seconds is None else self.left * self.seconds


def pace(connection: Connection, queue_id: int, person_id: int) -> Pace:
    """Someone's pace in a queue: the median of their last votes."""
    wanted = select(func.count()).select_from(item)
    wanted = wanted.where(item.c.queue_id == queue_id, item.c.missing > 0, ~ANSWERED, ~REPORTED)
    left = connection.execute(wanted, {"whose": person_id}).scalar_one()
    mine = select(vote.c.seconds).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    last = mine.where(vote.c.person_id == person_id, STANDS, vote.c.seconds.isnot(None))
    seconds = connection.execute(last.order_by(vote.c.id.desc()).limit(_LOOKED_AT)).scalars().all()
    return Pace(left, median(seconds) if seconds else None)
