"""Reports of unreadable images: who reported which item, when, and whether an owner has cleared the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, bindparam, insert, select, update

from regrade.core import UnknownName
from regrade.ledger.database import writing
from regrade.ledger.queue_order import release
from regrade.ledger.records import Person
from regrade.ledger.schema import item, now_in_utc, person, queue, report
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
    """A report that the image of an item is unreadable, with an optional ``text``."""

    id: int
    item_id: int
    queue: str
    example: str
    class_id: str
    person: str
    text: str
    at: datetime


class UnreadableReports:
    """The reports in a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add(self, item_id: int, by: Person, text: str = "") -> UnreadableReport:
        """Report an item: this person does not get it again until the report is cleared.

        Idempotent: while a person's report is open, reporting the item again returns that report.
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
        """The reports that are not cleared, oldest first."""
        with self.engine.connect() as connection:
            return tuple(UnreadableReport(**row) for row in connection.execute(_OPEN).mappings())

    def clear(self, report_id: int, by: Person) -> None:
        """Clear a report, so that its reporter can get the item again; the report is kept. Idempotent."""
        cleared = update(report).where(report.c.id == report_id, report.c.cleared.is_(None))
        with writing(self.engine) as connection:
            if connection.execute(select(report.c.id).where(report.c.id == report_id)).first() is None:
                raise UnknownName("report", str(report_id), None)
            connection.execute(cleared.values(cleared=self._now(), cleared_by=by.id))
