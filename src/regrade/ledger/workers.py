"""Workers of a crowd: links that sign them in without a password, and the log of what happened to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, RowMapping, Select, func, insert, select, update

from regrade.core import InputError
from regrade.core.panel import Role, WorkerEvent
from regrade.ledger.accounts import digest_of, new_token
from regrade.ledger.chain import extend_chain
from regrade.ledger.database import writing
from regrade.ledger.people import add_person
from regrade.ledger.records import Person, Queue, record_of
from regrade.ledger.schema import account, now_in_utc, person, worker_event, worker_link

LINK_LASTS = timedelta(days=90)
"""Lifetime of a worker's link."""

_NAME = "worker-{:04}"


@dataclass(frozen=True)
class WorkerLink:
    """A worker, and the token that signs them in as often as they like until it expires or is ended."""

    worker: Person
    token: str


@dataclass(frozen=True)
class LoggedWorkerEvent:
    """An event of a worker in a queue; ``by`` is the person who caused it, None if it was the gate or the worker."""

    id: int
    queue_id: int
    worker: str
    event: WorkerEvent
    reason: str
    by: str | None
    at: datetime


class Workers:
    """The workers of a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add(self, count: int) -> tuple[WorkerLink, ...]:
        """Add anonymous workers, numbered on from those that exist, each with a link."""
        if count < 1:
            raise InputError(f"the number of new workers must be at least 1, got {count}")
        with writing(self.engine) as connection:
            taken = set(connection.execute(select(person.c.name)).scalars())
            number, links = 0, list[WorkerLink]()
            while len(links) < count:
                number += 1
                if _NAME.format(number) not in taken:
                    worker = add_person(connection, _NAME.format(number), Role.WORKER, now=self._now())
                    links.append(WorkerLink(worker, self._new_link(connection, worker)))
        return tuple(links)

    def link(self, worker: Person) -> str:
        """Create another link for a worker and return its token."""
        if worker.role is not Role.WORKER:
            raise InputError(f"{worker.name} is not a worker: others sign in with a password")
        with writing(self.engine) as connection:
            return self._new_link(connection, worker)

    def holder(self, token: str) -> Person | None:
        """The worker of a link, or None if it has expired or ended, or the account is closed."""
        now = self._now()
        holders = (
            select(person)
            .join(worker_link, worker_link.c.person_id == person.c.id)
            .outerjoin(account, account.c.person_id == person.c.id)
            .where(worker_link.c.digest == digest_of(token), worker_link.c.until > now, worker_link.c.ended.is_(None))
            .where(person.c.role == Role.WORKER.value, account.c.closed.is_(None))
        )
        with self.engine.connect() as connection:
            row = connection.execute(holders).mappings().first()
        return None if row is None else record_of(Person, row)

    def end_links(self, worker: Person) -> None:
        """End all links of a worker; sessions that were begun with them go on until the account is closed."""
        ended = update(worker_link).where(worker_link.c.person_id == worker.id, worker_link.c.ended.is_(None))
        with writing(self.engine) as connection:
            connection.execute(ended.values(ended=self._now()))

    def log(
        self, queue: Queue, worker: Person, event: WorkerEvent, *, by: Person | None = None, reason: str = ""
    ) -> LoggedWorkerEvent:
        """Log an event of a worker; an event that a person causes needs a reason."""
        if by is not None and not reason.strip():
            raise InputError(f"give a reason: why is {worker.name} {event.value}?")
        with writing(self.engine) as connection:
            return self._log(connection, queue, worker, event, by=by, reason=reason)

    def log_after(
        self, last: int, queue: Queue, worker: Person, event: WorkerEvent, *, reason: str = ""
    ) -> LoggedWorkerEvent | None:
        """Log an event that follows from a worker's events up to the id ``last``; None if there is a newer one."""
        newest = select(func.coalesce(func.max(worker_event.c.id), 0))
        newest = newest.where(worker_event.c.queue_id == queue.id, worker_event.c.person_id == worker.id)
        with writing(self.engine) as connection:
            connection.execute(select(person.c.id).where(person.c.id == worker.id).with_for_update(key_share=True))
            if connection.execute(newest).scalar_one() > last:
                return None
            return self._log(connection, queue, worker, event, by=None, reason=reason)

    def _log(
        self,
        connection: Connection,
        queue: Queue,
        worker: Person,
        event: WorkerEvent,
        *,
        by: Person | None,
        reason: str,
    ) -> LoggedWorkerEvent:
        row = {
            "queue_id": queue.id, "person_id": worker.id, "event": event.value, "reason": reason,
            "by_id": None if by is None else by.id, "at": self._now(),
        }  # fmt: skip
        added = connection.execute(insert(worker_event).values(**row).returning(*worker_event.c)).mappings().one()
        extend_chain(connection, worker_event, [added])
        return _logged(connection.execute(_EVENTS.where(worker_event.c.id == added["id"])).mappings().one())

    def events(self, queue: Queue, worker: Person | None = None) -> tuple[LoggedWorkerEvent, ...]:
        """The events of all workers of a queue, or of one, oldest first."""
        chosen = _EVENTS.where(worker_event.c.queue_id == queue.id).order_by(worker_event.c.id)
        if worker is not None:
            chosen = chosen.where(worker_event.c.person_id == worker.id)
        with self.engine.connect() as connection:
            return tuple(_logged(row) for row in connection.execute(chosen).mappings())

    def _new_link(self, connection: Connection, worker: Person) -> str:
        token, until = new_token(), self._now() + LINK_LASTS
        connection.execute(insert(worker_link).values(digest=digest_of(token), person_id=worker.id, until=until))
        return token


_causer = person.alias("causer")
_EVENTS: Select[tuple[object, ...]] = (
    select(worker_event, person.c.name.label("worker"), _causer.c.name.label("by"))
    .join(person, person.c.id == worker_event.c.person_id)
    .outerjoin(_causer, _causer.c.id == worker_event.c.by_id)
)


def _logged(row: RowMapping) -> LoggedWorkerEvent:
    return LoggedWorkerEvent(
        row["id"], row["queue_id"], row["worker"], WorkerEvent(row["event"]), row["reason"], row["by"], row["at"]
    )
