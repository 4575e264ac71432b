"""The queues of a ledger: creation, assignment to people, the votes that items need, and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from regrade.core import InputError, UnknownName
from regrade.core.amounts import amount
from regrade.core.names import check_distinct_names
from regrade.core.panel import Mode, Role
from regrade.ledger.database import added_row, filling, snapshot, writing
from regrade.ledger.decisions import decide_complete, is_decided
from regrade.ledger.people import check_name
from regrade.ledger.questions import Question, question_named
from regrade.ledger.queue_order import ANSWERED, REPORTED, lock_queue
from regrade.ledger.records import Person, Purpose, Queue, may_answer, record_named, record_of
from regrade.ledger.schema import (
    IS_CURRENT,
    assignment,
    block,
    item,
    now_in_utc,
    overlap_change,
    person,
    queue,
    report,
    vote,
)

MOST_VOTES = 2**31 - 1
"""The maximum number of votes per item: the largest integer in the databases."""

_RECENT_VOTES = 50  # the number of newest votes that the pace is computed from
_IS_REPORTED = exists(select(report.c.id).where(report.c.item_id == item.c.id, report.c.cleared.is_(None)))
_EXAMINATIONS = (
    select(queue)
    .where(queue.c.question == Question.LABEL.name, queue.c.mode == Mode.EXAMINATION.value)
    .order_by(queue.c.id)
)
_ASSIGNED = select(assignment.c.queue_id).where(assignment.c.queue_id == queue.c.id)
_ASSIGNED_TO = _ASSIGNED.where(assignment.c.person_id == bindparam("person_id"))
_IS_OPEN_TO = exists(_ASSIGNED_TO) | ~exists(_ASSIGNED)
OPEN_QUEUE = select(queue).where(queue.c.id == bindparam("queue_id"), _IS_OPEN_TO)
"""The queue ``queue_id`` if it is assigned to the person ``person_id`` or to no one."""
_OPEN_TO = select(queue).where(_IS_OPEN_TO).order_by(queue.c.id)


@dataclass(frozen=True)
class QueueProgress:
    """The number of items of a queue: all, complete, decided and disputed; and the number of votes by person.

    ``reported`` items have an image that was reported as unreadable. ``newest_vote`` is the id of the newest current
    vote, 0 if there is none.
    """

    items: int
    answered: int
    decided: int
    disputed: int
    by_person: dict[str, int]
    reported: int
    newest_vote: int


@dataclass(frozen=True)
class Pace:
    """The number of items left for a person, and their median seconds per item, or None if unknown."""

    left: int
    seconds: float | None

    @property
    def time_left(self) -> float | None:
        """The expected seconds for the items that are left."""
        return None if self.seconds is None else self.left * self.seconds


@dataclass(frozen=True)
class OverlapChange:
    """The effect of a new overlap on the items of a queue.

    Of its ``open_items``, which had missing votes, ``completed`` now have enough votes: ``decided`` of them because
    all votes agree; the rest is to be discussed. ``unchanged`` items already had all their votes.
    """

    queue: str
    before: int
    after: int
    open_items: int
    completed: int
    decided: int
    unchanged: int

    def in_words(self) -> str:
        """The change as one line of text."""
        text = f"{self.queue}: items need {amount(self.after, 'vote')} instead of {self.before:,}; of "
        text += f"{amount(self.open_items, 'item')} with missing votes, {self.completed:,} now have enough "
        text += f"({self.decided:,} decided, {self.completed - self.decided:,} to discuss)"
        return f"{text}; {amount(self.unchanged, 'item')} with all votes are unchanged"


class Queues:
    """The queues of a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def create(
        self,
        name: str,
        question: Question,
        *,
        test_set: str,
        labels: str = "",
        overlap: int = 1,
        model: str = "",
        mode: Mode = Mode.EXAMINATION,
        purpose: Purpose = Purpose.CENSUS,
        build: str = "",
    ) -> Queue:
        """Create an empty queue; raises if the name is taken or too similar to another queue's name.

        Each item needs ``overlap`` votes. ``labels`` names the label set that its items are compared with, and
        ``model`` the model that made the predictions, if there is one; ``build`` names the build of a test set.
        """
        check_name("queue", name)
        if overlap < 1:
            raise InputError(f"an item needs at least one vote, got an overlap of {overlap}")
        row = insert(queue).values(
            name=name, question=question.name, test_set=test_set, labels=labels, overlap=overlap, opened=self._now(),
            model=model, mode=mode.value, purpose=purpose.value, build=build,
        )  # fmt: skip
        with writing(self.engine) as connection:
            check_distinct_names("queue", [name], connection.execute(select(queue.c.name)).scalars())
            return record_of(Queue, added_row(connection, row, queue, f"there is a queue {name!r} already"))

    def record_purpose(self, of: Queue, purpose: Purpose) -> Queue:
        """Record the purpose of a queue that an earlier version created; a recorded purpose is not changed."""
        changed = update(queue).where(queue.c.id == of.id, queue.c.purpose.is_(None)).values(purpose=purpose.value)
        with writing(self.engine) as connection:
            connection.execute(changed)
            row = connection.execute(select(queue).where(queue.c.id == of.id)).mappings().one()
        return record_of(Queue, row)

    def change_overlap(
        self, of: Queue, overlap: int, *, by: Person | None = None, dry_run: bool = False
    ) -> OverlapChange:
        """Change the number of votes that the incomplete items of a queue need.

        ``dry_run`` returns what would change without changing it.
        """
        with writing(self.engine) as connection, connection.begin_nested() as trial:
            person_id = None if by is None else by.id
            change = _change_overlap(connection, of, overlap, person_id=person_id, now=self._now())
            if dry_run:
                trial.rollback()
        return change

    def all(self) -> tuple[Queue, ...]:
        """All queues, oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(queue).order_by(queue.c.id)).mappings()
            return tuple(record_of(Queue, row) for row in rows)

    def examinations(self) -> tuple[Queue, ...]:
        """The label queues in examination mode, oldest first."""
        with self.engine.connect() as connection:
            return tuple(record_of(Queue, row) for row in connection.execute(_EXAMINATIONS).mappings())

    def named(self, name: str) -> Queue:
        """A queue by name."""
        return record_named(self.all(), name, "queue", first="regrade review queue")

    def assign(self, of: Queue, people: Sequence[Person]) -> None:
        """Assign a queue to these people only; an empty list makes it open to everyone."""
        check_assignable(people, of.name, of.question)
        with writing(self.engine) as connection:
            lock_queue(connection, of.id)
            _assign(connection, of.id, [assignee.id for assignee in people])

    def assigned(self, of: Queue) -> tuple[Person, ...]:
        """The people a queue is assigned to; empty if it is open to everyone whose role allows it."""
        with self.engine.connect() as connection:
            return tuple(record_of(Person, row) for row in _assigned(connection, of.id))

    def open_to(self, by: Person) -> tuple[Queue, ...]:
        """The queues that a person may work on, oldest first: those assigned to them, and those assigned to no one.

        Labelers get label queues only; queues that show predictions of models are for reviewers and owners.
        """
        with self.engine.connect() as connection:
            rows = connection.execute(_OPEN_TO, {"person_id": by.id}).mappings()
            queues = [record_of(Queue, row) for row in rows]
        return tuple(candidate for candidate in queues if may_answer(by.role, candidate.question))

    def for_person(self, by: Person, queue_id: int) -> Queue:
        """A queue by its id; raises if the person may not work on it."""
        with self.engine.connect() as connection:
            row = connection.execute(OPEN_QUEUE, {"queue_id": queue_id, "person_id": by.id}).mappings().first()
        if row is None or not may_answer(by.role, question_named(row["question"])):
            raise UnknownName("queue", str(queue_id), None)
        return record_of(Queue, row)

    def filling(self) -> AbstractContextManager[None]:
        """A lock for filling queues; take it while holding the lock of the workspace."""
        return filling(self.engine)

    def sizes(self, queue_ids: Sequence[int]) -> dict[int, int]:
        """The number of items by queue; empty queues are left out."""
        with self.engine.connect() as connection:
            return queue_sizes(connection, queue_ids)

    def progress(self, of: Queue) -> QueueProgress:
        """The number of complete, decided and disputed items of a queue, and of votes by person."""
        with snapshot(self.engine) as connection:
            return _progress(connection, of)

    def pace(self, of: Queue, by: Person) -> Pace:
        """How many items of a queue are left for a person, and how fast they answer."""
        with self.engine.connect() as connection:
            return _pace(connection, of.id, by.id)


def check_assignable(people: Sequence[Person], name: str, question: Question) -> None:
    """Raise if the role of a person does not allow them to answer the question of the queue ``name``."""
    for assignee in people:
        if not may_answer(assignee.role, question):
            what = "is not for workers" if assignee.role is Role.WORKER else "shows predictions of models"
            raise InputError(f"{assignee.name} is a {assignee.role.value}, and {name} {what}: assign it to reviewers")


def _assign(connection: Connection, queue_id: int, person_ids: Iterable[int]) -> None:
    """Assign a queue to these people only; no ids make it open to everyone."""
    connection.execute(delete(assignment).where(assignment.c.queue_id == queue_id))
    rows = [{"queue_id": queue_id, "person_id": person_id} for person_id in dict.fromkeys(person_ids)]
    if rows:
        connection.execute(insert(assignment), rows)


def _assigned(connection: Connection, queue_id: int) -> Sequence[RowMapping]:
    """The people a queue is assigned to; empty if it is open to everyone."""
    people = select(person).join(assignment, assignment.c.person_id == person.c.id)
    return connection.execute(people.where(assignment.c.queue_id == queue_id).order_by(person.c.id)).mappings().all()


def queue_sizes(connection: Connection, queue_ids: Sequence[int]) -> dict[int, int]:
    """The number of items by queue; empty queues are left out."""
    total = select(block.c.queue_id, func.sum(block.c.size)).where(block.c.queue_id.in_(queue_ids))
    return {queue_id: int(size) for queue_id, size in connection.execute(total.group_by(block.c.queue_id))}


def _progress(connection: Connection, of: Queue) -> QueueProgress:
    """The progress of a queue; queues without decisions have no disputed items."""
    in_queue = item.c.queue_id == of.id

    def count(*where: ColumnElement[bool]) -> int:
        return connection.execute(select(func.count()).select_from(item).where(in_queue, *where)).scalar_one()

    complete = item.c.missing <= 0
    votes = (
        select(person.c.name, func.count(), func.max(vote.c.id))
        .join(vote, vote.c.person_id == person.c.id)
        .join(item, item.c.id == vote.c.item_id)
        .where(in_queue, IS_CURRENT)
        .group_by(person.c.name)
        .order_by(person.c.name)
    )
    rows = connection.execute(votes).all()
    return QueueProgress(
        count(),
        count(complete),
        count(is_decided()),
        count(complete, ~is_decided()) if of.question.decided else 0,
        {name: votes_cast for name, votes_cast, _ in rows},
        count(_IS_REPORTED),
        max((newest for *_, newest in rows), default=0),
    )


def _pace(connection: Connection, queue_id: int, person_id: int) -> Pace:
    """A person's pace in a queue, from the median of their recent votes."""
    count = select(func.count()).select_from(item)
    open_items = count.where(item.c.queue_id == queue_id, item.c.missing > 0, ~ANSWERED, ~REPORTED)
    left = connection.execute(open_items, {"reviewer_id": person_id}).scalar_one()
    votes = select(vote.c.seconds).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == queue_id)
    timed = votes.where(vote.c.person_id == person_id, IS_CURRENT, vote.c.seconds.isnot(None))
    seconds = connection.execute(timed.order_by(vote.c.id.desc()).limit(_RECENT_VOTES)).scalars().all()
    return Pace(left, median(seconds) if seconds else None)


def _change_overlap(
    connection: Connection, of: Queue, overlap: int, *, person_id: int | None, now: datetime
) -> OverlapChange:
    """Change the number of votes that the incomplete items of a queue need, and all items added later.

    An item that has more votes than ``overlap`` needs the votes it has, so that all of them count as independent.
    """
    if not 1 <= overlap <= MOST_VOTES:
        raise InputError(f"an item needs between 1 and {MOST_VOTES:,} votes, got an overlap of {overlap:,}")
    lock_queue(connection, of.id)
    in_queue, is_open = item.c.queue_id == of.id, item.c.missing > 0
    total, open_items = _count(connection, in_queue), _count(connection, in_queue, is_open)
    before = connection.execute(select(queue.c.overlap).where(queue.c.id == of.id)).scalar_one()
    connection.execute(update(queue).where(queue.c.id == of.id).values(overlap=overlap))
    votes = item.c.needed - item.c.missing
    needed = case((votes > overlap, votes), else_=overlap)
    connection.execute(update(item).where(in_queue, is_open).values(needed=needed, missing=needed - votes))
    completed = open_items - _count(connection, in_queue, is_open)
    decided = _decide_unanimous(connection, of, now=now) if completed and of.question.decided else 0
    row = {"queue_id": of.id, "person_id": person_id, "before": before, "after": overlap, "at": now}
    connection.execute(insert(overlap_change).values(**row))
    return OverlapChange(of.name, before, overlap, open_items, completed, decided, total - open_items)


def _decide_unanimous(connection: Connection, of: Queue, *, now: datetime) -> int:
    """Decide every complete item of a queue on which all votes agree, and return how many were decided."""
    complete = select(item.c.id).where(item.c.queue_id == of.id, item.c.missing <= 0, ~is_decided())
    items = connection.execute(complete.order_by(item.c.place)).scalars().all()
    return sum(decide_complete(connection, item_id, now=now) is not None for item_id in items)


def _count(connection: Connection, *where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(item).where(*where)).scalar_one()
