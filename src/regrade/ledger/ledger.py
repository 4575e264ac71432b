"""A ledger, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, RowMapping, Table, insert, select
from sqlalchemy.exc import IntegrityError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import deciding, overview, queueing, voting
from regrade.ledger.answers import check_ballot
from regrade.ledger.database import open_database, writing
from regrade.ledger.overview import Progress
from regrade.ledger.reading_back import read_back
from regrade.ledger.record_rows import record_rows
from regrade.ledger.records import Ballot, Comment, Decision, Item, NewItem, Person, Question, Queue, Role, Vote
from regrade.ledger.schema import block, comment, item, person, queue

Record = TypeVar("Record", Person, Queue, Item, Vote, Comment, Decision)


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """People's judgements, in SQLite or PostgreSQL; nothing in it is ever overwritten.

    ``clock`` tells the time, for tests that need to set it.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = _now) -> None:
        self.engine = engine
        self._now = clock

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        """The ledger in a file, made if missing, or at a PostgreSQL address."""
        return cls(open_database(place))

    # People

    def add_person(self, name: str, role: Role) -> Person:
        """Someone new; a name that is taken raises."""
        if not name.strip():
            raise InputError("a person has a name")
        row = insert(person).values(name=name.strip(), role=role.value, joined=self._now())
        with writing(self.engine) as connection:
            return _record(Person, _added(connection, row, person, f"someone is called {name!r} already"))

    def people(self) -> tuple[Person, ...]:
        """Everyone, in the order in which they came."""
        with self.engine.connect() as connection:
            found = connection.execute(select(person).order_by(person.c.id)).mappings()
            return tuple(_record(Person, row) for row in found)

    def person(self, name: str) -> Person:
        """Someone by name."""
        return _named(self.people(), name, "person")

    # Queues

    def open_queue(self, name: str, question: Question, *, test_set: str, labels: str = "", overlap: int = 1) -> Queue:
        """A new queue, empty, whose items are each for ``overlap`` people; a name that is taken raises."""
        if overlap < 1:
            raise InputError(f"an item is for one person or more, got an overlap of {overlap}")
        row = insert(queue).values(
            name=name, question=question.value, test_set=test_set, labels=labels, overlap=overlap, opened=self._now()
        )
        with writing(self.engine) as connection:
            return _record(Queue, _added(connection, row, queue, f"there is a queue {name!r} already"))

    def queues(self) -> tuple[Queue, ...]:
        """All queues, oldest first."""
        with self.engine.connect() as connection:
            found = connection.execute(select(queue).order_by(queue.c.id)).mappings()
            return tuple(_record(Queue, row) for row in found)

    def queue(self, name: str) -> Queue:
        """A queue by name."""
        return _named(self.queues(), name, "queue")

    def add_items(self, to: Queue, items: Iterable[NewItem]) -> int:
        """Put items at the end of a queue and say how many are new: those it has already are passed over."""
        with writing(self.engine) as connection:
            known = set(connection.execute(_pairs(to.id)))
            fresh = [one for one in dict.fromkeys(items) if (one.example, one.class_id) not in known]
            fresh = list({(one.example, one.class_id): one for one in fresh}.values())
            if not fresh:
                return 0
            start = len(known)
            rows = [
                {
                    "queue_id": to.id,
                    "place": start + number,
                    "example": one.example,
                    "class": one.class_id,
                    "stratum": one.stratum,
                    "missing": to.overlap,
                }
                for number, one in enumerate(fresh)
            ]
            connection.execute(insert(item), rows)
            connection.execute(insert(block).values(queue_id=to.id, start=start, size=len(fresh)))
        return len(fresh)

    def next_item(self, of: Queue, to: Person) -> Item | None:
        """What someone is asked next, and keeps for a while; nothing when they are done."""
        with writing(self.engine) as connection:
            found = queueing.next_item(connection, of.id, to.id, now=self._now())
        return None if found is None else _record(Item, found)

    def item(self, item_id: int) -> Item:
        """An item by its number."""
        with self.engine.connect() as connection:
            found = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
        if found is None:
            raise UnknownName("item", str(item_id), [])
        return _record(Item, found)

    # Votes

    def vote(self, item_id: int, by: Person, ballot: Ballot) -> Vote:
        """Add someone's vote; a unanimous panel has then decided.

        The same ballot a second time is the vote it was. An answer that the question does not know, a change without
        a reason and a vote on what is decided raise.
        """
        now = self._now()
        with writing(self.engine) as connection:
            asked = voting.locked_item(connection, item_id)
            check_ballot(deciding.question_of(connection, asked), ballot)
            if deciding.decided(connection, item_id) is not None and not voting.is_known(connection, ballot.key):
                raise AlreadyStored("this item is decided: it must be opened again before a vote can change")
            cast = voting.cast(connection, asked, by.id, ballot, now=now)
            deciding.decide_if_unanimous(connection, item_id, now=now)
        return _record(Vote, cast)

    def votes_seen_by(self, item_id: int, viewer: Person) -> tuple[Vote, ...]:
        """The votes on an item that someone may see: their own, and everyone's once all have voted."""
        with self.engine.connect() as connection:
            votes = [_record(Vote, row) for row in voting.standing_votes(connection, item_id)]
            blind = connection.execute(select(item.c.missing).where(item.c.id == item_id)).scalar_one() > 0
        return tuple(one for one in votes if not blind or one.person_id == viewer.id)

    def last_vote_of(self, by: Person, of: Queue) -> Vote | None:
        """Someone's newest vote in a queue that stands: what undo takes back."""
        with self.engine.connect() as connection:
            found = voting.newest_vote(connection, of.id, by.id)
        return None if found is None else _record(Vote, found)

    def progress(self, of: Queue) -> Progress:
        """How far a queue has come."""
        with self.engine.connect() as connection:
            return overview.progress(connection, of.id)

    # Discussion and decisions

    def disputed(self, of: Queue) -> tuple[Item, ...]:
        """Items that all have voted on and not alike, and that no one has decided yet."""
        with self.engine.connect() as connection:
            return tuple(_record(Item, row) for row in connection.execute(overview.disputed_items(of.id)).mappings())

    def comment(self, item_id: int, by: Person, text: str) -> Comment:
        """Say something of an item."""
        if not text.strip():
            raise InputError("a comment has a text")
        row = insert(comment).values(item_id=item_id, person_id=by.id, text=text.strip(), at=self._now())
        with writing(self.engine) as connection:
            return _record(Comment, _added(connection, row, comment, "this item is not there"))

    def comments(self, item_id: int) -> tuple[Comment, ...]:
        """What was said of an item, oldest first."""
        found = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id)
        with self.engine.connect() as connection:
            return tuple(_record(Comment, row) for row in connection.execute(found).mappings())

    def lock(self, item_id: int, by: Person, *, why: str = "") -> Decision:
        """Decide an item that all have voted on by what most say."""
        with writing(self.engine) as connection:
            return _record(Decision, deciding.lock(connection, item_id, by.id, why=why, now=self._now()))

    def reopen(self, item_id: int, by: Person, *, why: str) -> Decision:
        """Take a decision back, so that votes may change."""
        with writing(self.engine) as connection:
            return _record(Decision, deciding.reopen(connection, item_id, by.id, why=why, now=self._now()))

    def decision(self, item_id: int) -> Decision | None:
        """What was decided of an item."""
        with self.engine.connect() as connection:
            found = deciding.decided(connection, item_id)
        return None if found is None else _record(Decision, found)

    # Taking it along

    def rows(self) -> list[dict[str, Any]]:
        """Everything in the ledger as plain rows, with names and times."""
        with self.engine.connect() as connection:
            return list(record_rows(connection))

    def read_back(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add rows of this or another ledger, and say how many votes are new."""
        with writing(self.engine) as connection:
            return read_back(connection, rows)


def _pairs(queue_id: int) -> Any:
    return select(item.c.example, item.c["class"]).where(item.c.queue_id == queue_id)


def _added(connection: Connection, row: Any, table: Table, complaint: str) -> RowMapping:
    try:
        return connection.execute(row.returning(*table.c)).mappings().one()
    except IntegrityError:
        raise AlreadyStored(complaint) from None


def _named(among: Sequence[Record], name: str, what: str) -> Record:
    found = next((one for one in among if getattr(one, "name", None) == name), None)
    if found is None:
        raise UnknownName(what, name, [getattr(one, "name", "") for one in among])
    return found


_READ: dict[str, Callable[[Any], Any]] = {"role": Role, "question": Question}


def _record(kind: type[Record], row: RowMapping) -> Record:
    """A row as its record; what the record does not name is left out."""
    values = {"class_id": row.get("class"), **row}
    return kind(**{one.name: _READ.get(one.name, _as_it_is)(values[one.name]) for one in fields(kind)})


def _as_it_is(value: Any) -> Any:
    return value
