"""Reports of images that could not be read: who reported which item, when, and whether an owner has cleared it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, bindparam, insert, select, update

from regrade.core import UnknownName
from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import writing
from regrade.ledger.queue_order import release
from regrade.ledger.records import Person
from regrade.ledger.schema import item, person, queue, report
from regrade.ledger.voting import locked_item

_OPEN = (
    select(
        report.c.id,
        report.c.item_id,
        queue.c.name.label("queue"),
        item.c.example,
        item.c["class"].label("class_id"),
        person.c.name.label("person"),
        report.c.text,
        report.c.at,
    )
    .join(item, item.c.id == report.c.item_id)
    .join(queue, queue.c.id == item.c.queue_id)
    .join(person, person.c.id == report.c.person_id)
    .where(report.c.cleared.is_(None))
    .order_by(report.c.id)
)
_OWN = _OPEN.where(report.c.item_id == bindparam("reported_item"), report.c.person_id == bindparam("reporter"))


@dataclass(frozen=True)
class UnreadableReport:
    """An image that someone could not read, by the item that showed it; ``text`` is what they wrote, if anything."""

    id: int
    item_id: int
    queue: str
    example: str
    class_id: str
    person: str
    text: str
    at: datetime


class UnreadableReports:
    """The reports in a ledger. ``clock`` tells the time, for tests that need to set it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add(self, item_id: int, by: Person, text: str = "") -> UnreadableReport:
        """Report an item: it is not given to this person again until the report is cleared.

        A second report of the same person, while the first is open, is the first.
        """
        own = {"reported_item": item_id, "reporter": by.id}
        with writing(self.engine) as connection:
            locked_item(connection, item_id)
            release(connection, item_id, by.id)
            if connection.execute(_OWN, own).first() is None:
                row = insert(report).values(item_id=item_id, person_id=by.id, text=text.strip(), at=self._now())
                connection.execute(row)
            return UnreadableReport(**connection.execute(_OWN, own).mappings().all()[0])

    def open(self) -> tuple[UnreadableReport, ...]:
        """The reports that no one has cleared, oldest first."""
        with self.engine.connect() as connection:
            return tuple(UnreadableReport(**row) for row in connection.execute(_OPEN).mappings())

    def clear(self, report_id: int, by: Person) -> None:
        """Give the item to its reporter again; the report stays in the ledger. Clearing twice is clearing once."""
        cleared = update(report).where(report.c.id == report_id, report.c.cleared.is_(None))
        with writing(self.engine) as connection:
            if connection.execute(select(report.c.id).where(report.c.id == report_id)).first() is None:
                raise UnknownName("report", str(report_id), None)
            connection.execute(cleared.values(cleared=self._now(), cleared_by=by.id))
