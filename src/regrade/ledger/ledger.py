"""The `Ledger`: people, queues, votes, discussion and decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, Table, insert, select, update
from sqlalchemy.exc import IntegrityError

from regrade.core import AlreadyStored, InputError, LedgerDamaged, UnknownName
from regrade.core.names import check_distinct_names
from regrade.ledger import assignment, decisions, discussion, queue_order, queue_progress, voting
from regrade.ledger.answers import check_vote
from regrade.ledger.chain import ChainLink, chain_problems, extend_chain, has_link, last_link
from regrade.ledger.database import (
    filling,
    identity,
    open_database,
    snapshot,
    stored_identity,
    unchanged_database,
    writing,
    writing_unsynced,
)
from regrade.ledger.database_errors import shown_place
from regrade.ledger.independent_votes import IndependentVote, independent_votes
from regrade.ledger.integrity import integrity_problems
from regrade.ledger.ledger_file import back_up
from regrade.ledger.names import check_name, check_not_similar
from regrade.ledger.overlap import OverlapChange, change_overlap
from regrade.ledger.queue_progress import Pace, QueueProgress
from regrade.ledger.queue_results import PersonsAnswer, PublishedDecision, current_decisions, last_answers
from regrade.ledger.records import (
    Comment,
    CountedVote,
    Decision,
    Item,
    Mode,
    NewItem,
    Person,
    Question,
    Queue,
    Record,
    Role,
    Vote,
    VoteContent,
    record_of,
)
from regrade.ledger.reveal import is_revealed, reveals
from regrade.ledger.row_export import exported_rows
from regrade.ledger.row_import import import_rows
from regrade.ledger.schema import comment, item, now_in_utc, person, queue


class Ledger:
    """An append-only database of people's votes, in SQLite or PostgreSQL.

    ``clock`` returns the current time; tests replace it.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        """Open the ledger in a file, created if missing, or at a PostgreSQL URL."""
        return cls(open_database(place))

    @classmethod
    @contextmanager
    def unchanged(cls, place: str | Path) -> Iterator[Ledger]:
        """Open a ledger, or a migrated copy of it, without writing to it, for checks."""
        with unchanged_database(place) as engine:
            yield cls(engine)

    @property
    def place(self) -> str:
        """The path or URL of the ledger, without a password."""
        return shown_place(self.engine)

    # People

    def add_person(self, name: str, role: Role) -> Person:
        """Add a person; raises if the name is taken or too similar to another person's name."""
        check_name("person", name)
        row = insert(person).values(name=name, role=role.value, joined=self._now())
        with writing(self.engine) as connection:
            check_not_similar([name], connection.execute(select(person.c.name)).scalars())
            return record_of(Person, _added(connection, row, person, f"there is a person {name!r} already"))

    def people(self) -> tuple[Person, ...]:
        """Everyone, in the order in which they were added."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(person).order_by(person.c.id)).mappings()
            return tuple(record_of(Person, row) for row in rows)

    def set_role(self, of: Person, role: Role) -> Person:
        """Change a person's role; the last owner cannot be changed."""
        with writing(self.engine) as connection:
            owners = select(person.c.id).where(person.c.role == Role.OWNER.value).with_for_update(key_share=True)
            owner_ids = connection.execute(owners).scalars().all()
            if role is not Role.OWNER and owner_ids == [of.id]:
                raise InputError(f"{of.name} is the only owner: make another person an owner first")
            changed = update(person).where(person.c.id == of.id).values(role=role.value)
            return record_of(Person, connection.execute(changed.returning(*person.c)).mappings().one())

    def person(self, name: str) -> Person:
        """A person by name."""
        return _named(self.people(), name, "person", first=f"regrade team add {name}")

    # Queues

    def open_queue(
        self,
        name: str,
        question: Question,
        *,
        test_set: str,
        labels: str = "",
        overlap: int = 1,
        model: str = "",
        mode: Mode = Mode.EXAMINATION,
    ) -> Queue:
        """Create an empty queue; raises if the name is taken or too similar to another queue's name.

        Each item needs ``overlap`` votes. ``labels`` names the label set that its items are compared with, and
        ``model`` the model that made the predictions, if there is one.
        """
        check_name("queue", name)
        if overlap < 1:
            raise InputError(f"an item needs at least one vote, got an overlap of {overlap}")
        row = insert(queue).values(
            name=name, question=question.value, test_set=test_set, labels=labels, overlap=overlap, opened=self._now(),
            model=model, mode=mode.value,
        )  # fmt: skip
        with writing(self.engine) as connection:
            check_distinct_names("queue", [name], connection.execute(select(queue.c.name)).scalars())
            return record_of(Queue, _added(connection, row, queue, f"there is a queue {name!r} already"))

    def change_overlap(
        self, of: Queue, overlap: int, *, by: Person | None = None, dry_run: bool = False
    ) -> OverlapChange:
        """Change the number of votes that the incomplete items of a queue need.

        ``dry_run`` returns what would change without changing it.
        """
        with writing(self.engine) as connection, connection.begin_nested() as trial:
            person_id = None if by is None else by.id
            change = change_overlap(connection, of, overlap, person_id=person_id, now=self._now())
            if dry_run:
                trial.rollback()
        return change

    def queues(self) -> tuple[Queue, ...]:
        """All queues, oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(queue).order_by(queue.c.id)).mappings()
            return tuple(record_of(Queue, row) for row in rows)

    def examinations(self) -> tuple[Queue, ...]:
        """The label queues in examination mode, oldest first."""
        with self.engine.connect() as connection:
            return tuple(record_of(Queue, row) for row in connection.execute(_EXAMINATIONS).mappings())

    def queue(self, name: str) -> Queue:
        """A queue by name."""
        return _named(self.queues(), name, "queue", first="regrade review queue")

    def assign(self, of: Queue, people: Sequence[Person]) -> None:
        """Assign a queue to these people only; an empty list makes it open to everyone."""
        for assignee in people:
            if not assignment.may_answer(assignee.role, of.question):
                raise InputError(
                    f"{assignee.name} is a labeler, and {of.name} shows predictions of models: assign it to reviewers"
                )
        with writing(self.engine) as connection:
            queue_order.lock_queue(connection, of.id)
            assignment.assign(connection, of.id, [assignee.id for assignee in people])

    def assigned(self, of: Queue) -> tuple[Person, ...]:
        """The people a queue is assigned to; empty if it is open to everyone whose role allows it."""
        with self.engine.connect() as connection:
            return tuple(record_of(Person, row) for row in assignment.assigned(connection, of.id))

    def queues_of(self, by: Person) -> tuple[Queue, ...]:
        """The queues that a person may work on, oldest first: those assigned to them, and those assigned to no one.

        Labelers get label queues only; queues that show predictions of models are for reviewers and owners.
        """
        with self.engine.connect() as connection:
            return tuple(record_of(Queue, row) for row in assignment.open_to(connection, by))

    def queue_for(self, by: Person, queue_id: int) -> Queue:
        """A queue by its id; raises if the person may not work on it."""
        with self.engine.connect() as connection:
            row = assignment.queue_for(connection, by, queue_id)
        if row is None:
            raise UnknownName("queue", str(queue_id), None)
        return record_of(Queue, row)

    def item_for(self, by: Person, queue_id: int, item_id: int) -> tuple[Queue, Item]:
        """A queue and its item by their ids; raises if the person may not work on the queue."""
        with self.engine.connect() as connection:
            queue_row, item_row = assignment.item_for(connection, by, queue_id, item_id)
        if queue_row is None:
            raise UnknownName("queue", str(queue_id), None)
        if item_row is None:
            raise UnknownName("item", str(item_id), None)
        return record_of(Queue, queue_row), record_of(Item, item_row)

    def filling(self) -> AbstractContextManager[None]:
        """A lock for filling queues; take it while holding the lock of the workspace."""
        return filling(self.engine)

    def add_items(self, to: Queue, items: Iterable[NewItem]) -> int:
        """Append items to a queue and return how many are new; items that it already has are skipped."""
        with writing(self.engine) as connection:
            queue_order.lock_queue(connection, to.id)
            stored = set(connection.execute(_pairs(to.id)))
            by_pair = {(new.example, new.class_id): new for new in items}
            new_items = [new for pair, new in by_pair.items() if pair not in stored]
            needed = connection.execute(select(queue.c.overlap).where(queue.c.id == to.id)).scalar_one()
            queue_order.append_items(connection, to.id, new_items, needed=needed)
        return len(new_items)

    def next_item(self, of: Queue, to: Person, *, after: int | None = None) -> Item | None:
        """Give a person their next item, reserved for them for a while; None if nothing is left.

        ``after`` is the id of the item they are working on: the result is the item that follows it.
        """
        with writing_unsynced(self.engine) as connection:
            row = queue_order.next_item(connection, of.id, to.id, now=self._now(), after=after)
        return None if row is None else record_of(Item, row)

    def skip(self, item_id: int, by: Person) -> None:
        """Skip an item for a person; its reservation ends, and `return_skipped` brings it back."""
        with writing(self.engine) as connection:
            queue_order.skip_item(connection, voting.locked_item(connection, item_id), by.id)

    def skipped(self, of: Queue, by: Person) -> int:
        """The number of items of a queue that a person has skipped and that still need their answer."""
        with self.engine.connect() as connection:
            return queue_order.count_skipped(connection, of.id, by.id)

    def return_skipped(self, of: Queue, by: Person) -> None:
        """Bring back the items of a queue that a person has skipped."""
        with writing(self.engine) as connection:
            queue_order.return_skipped(connection, of.id, by.id)

    def item(self, item_id: int) -> Item:
        """An item by its id."""
        with self.engine.connect() as connection:
            row = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
        if row is None:
            raise UnknownName("item", str(item_id), None)
        return record_of(Item, row)

    # Votes

    def vote(self, item_id: int, by: Person, content: VoteContent) -> Vote:
        """Cast a person's vote; unanimous votes decide the item.

        Idempotent: content with the key of a stored vote returns that vote. Raises for an answer that the question
        does not have, a change without a reason, a vote on a decided item, and a vote without a reason after one that
        was retracted after the reveal.
        """
        return self.cast_vote(item_id, by, content).vote

    def cast_vote(self, item_id: int, by: Person, content: VoteContent) -> CountedVote:
        """Cast a person's vote as `vote` does, and return whether they can now see the other votes on the item."""
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            check_vote(Question(item_row["question"]), content)
            votes = voting.votes_so_far(connection, item_id, content.key)
            cast = voting.stored_vote(votes, item_row, by.id, content)
            if cast is None:
                if item_row["missing"] <= 0 and decisions.current_decision(connection, item_id) is not None:
                    raise AlreadyStored("this item is decided: reopen it before changing a vote")
                cast = voting.cast(connection, item_row, votes, by, content, now=now)
                votes.append(cast)
                decisions.decide_if_unanimous(connection, item_row, now=now)
        return CountedVote(record_of(Vote, cast), revealed=reveals(item_row, votes, by))

    def has_vote(self, key: str) -> bool:
        """Whether there is a vote with this key, by anyone."""
        with self.engine.connect() as connection:
            return voting.is_stored(connection, key)

    def take_back(self, item_id: int, by: Person, *, key: str, why: str = "", undone: str | None = None) -> Vote:
        """Retract a person's vote and give them the item again; a decision by unanimous votes is reverted with it.

        After the reveal a reason is required (`ReasonNeeded`). ``undone`` is the key of the vote to retract: raises if
        the current vote is another one; does nothing if it is already retracted.
        """
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            retraction = VoteContent(key, None, why=why.strip() or voting.UNDONE)
            votes = voting.votes_so_far(connection, item_id, key)
            row = voting.stored_vote(votes, item_row, by.id, retraction)
            if row is None and undone is not None:
                row = voting.stored_retraction(votes, by.id, undone)
            if row is None:
                decisions.undo_unanimous(connection, item_id, by.id, why=retraction.why, now=now)
                row = voting.cast(connection, item_row, votes, by, retraction, now=now)
                queue_order.hold(connection, item_row, by.id, now=now)
        return record_of(Vote, row)

    def is_revealed(self, item_id: int, person: Person) -> bool:
        """Whether a person may have seen another person's vote on an item; if so, changes need a reason."""
        with self.engine.connect() as connection:
            return is_revealed(connection, item_id, person)

    def last_vote_of(self, by: Person, of: Queue) -> Vote | None:
        """A person's newest current vote in a queue: the one that undo retracts."""
        with self.engine.connect() as connection:
            row = voting.newest_vote(connection, of.id, by.id)
        return None if row is None else record_of(Vote, row)

    def independent_votes(self, of: Queue, *, revealed_only: bool = False) -> tuple[IndependentVote, ...]:
        """The votes that were cast before their voters could see each other's, from which agreement is computed.

        ``revealed_only`` leaves out incomplete items, for people who may still have to vote on them.
        """
        with snapshot(self.engine) as connection:
            return independent_votes(connection, of.id, revealed_only=revealed_only)

    def progress(self, of: Queue) -> QueueProgress:
        """The number of complete, decided and disputed items of a queue, and of votes by person."""
        with snapshot(self.engine) as connection:
            return queue_progress.progress(connection, of)

    def pace(self, of: Queue, by: Person) -> Pace:
        """How many items of a queue are left for a person, and how fast they answer."""
        with self.engine.connect() as connection:
            return queue_progress.pace(connection, of.id, by.id)

    # Discussion and decisions

    def comment(self, item_id: int, by: Person, text: str) -> Comment:
        """Comment on an item; repeating one's own last comment returns that comment."""
        if not text.strip():
            raise InputError("the comment is empty: write some text")
        row = insert(comment).values(item_id=item_id, person_id=by.id, text=text.strip(), at=self._now())
        with writing(self.engine) as connection:
            voting.locked_item(connection, item_id)
            last = discussion.last_comment(connection, item_id)
            if last is not None and (last["person_id"], last["text"]) == (by.id, text.strip()):
                return record_of(Comment, last)
            added = _added(connection, row, comment, "this item does not exist")
            extend_chain(connection, comment, [added])
            return record_of(Comment, added)

    def comments(self, item_id: int) -> tuple[Comment, ...]:
        """The comments on an item, oldest first."""
        comments = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id)
        with self.engine.connect() as connection:
            return tuple(record_of(Comment, row) for row in connection.execute(comments).mappings())

    def lock(self, item_id: int, by: Person, *, why: str = "", seen: int | None = None) -> Decision:
        """Decide a complete item by the majority of its votes.

        ``seen`` is the id of the newest vote that the person has seen: raises if there is a newer one.
        """
        with writing(self.engine) as connection:
            locked = decisions.lock(connection, item_id, by.id, why=why, seen=seen, now=self._now())
            return record_of(Decision, locked)

    def reopen(self, item_id: int, by: Person, *, why: str) -> Decision:
        """Revert a decision, so that votes may change."""
        with writing(self.engine) as connection:
            return record_of(Decision, decisions.reopen(connection, item_id, by.id, why=why, now=self._now()))

    def decision(self, item_id: int) -> Decision | None:
        """The current decision on an item, if any."""
        with self.engine.connect() as connection:
            row = decisions.current_decision(connection, item_id)
        return None if row is None else record_of(Decision, row)

    # Results

    def pairs(self, of: Queue) -> tuple[tuple[str, str], ...]:
        """The image id and class of every item of a queue."""
        with self.engine.connect() as connection:
            return tuple((example, class_id) for example, class_id in connection.execute(_pairs(of.id)))

    def current_decisions(self, of: Queue) -> tuple[PublishedDecision, ...]:
        """The current decisions on a queue's items, in the order in which they were made."""
        with snapshot(self.engine) as connection:
            return current_decisions(connection, of.id)

    def last_answers(self, of: Queue) -> tuple[PersonsAnswer, ...]:
        """Each person's last answer to each item of a queue, oldest first."""
        with snapshot(self.engine) as connection:
            return last_answers(connection, of.id)

    # Integrity

    def last_link(self) -> ChainLink:
        """The last link of the hash chain, which covers all votes, comments, decisions and guide entries so far."""
        with self.engine.connect() as connection:
            return last_link(connection)

    def has_link(self, link: ChainLink) -> bool:
        """Whether the hash chain contains a link; a single lookup that recomputes nothing."""
        with self.engine.connect() as connection:
            return has_link(connection, link)

    def identity(self) -> str:
        """The random id of this ledger; it is chosen when the ledger is created."""
        return identity(self.engine)

    def stored_identity(self) -> str | None:
        """The random id of this ledger, or None if it has none yet."""
        return stored_identity(self.engine)

    def back_up(self, path: Path) -> None:
        """Copy the ledger in a consistent state to a new file, while others go on voting."""
        back_up(self.engine, path)

    def problems(self, *, noted: Iterable[ChainLink] = ()) -> tuple[str, ...]:
        """Describe what is wrong with the database, its triggers and its hash chain, which must contain ``noted``."""
        problems = []
        with snapshot(self.engine) as connection:
            try:
                for problem in chain(integrity_problems(connection), chain_problems(connection, noted)):
                    problems.append(problem)
            except LedgerDamaged as error:  # unreadable rows: the remaining checks are skipped
                problems.append(str(error))
        return tuple(problems)

    # Export and import

    def rows(self) -> list[dict[str, Any]]:
        """Everything in the ledger as plain rows, with names instead of ids."""
        with snapshot(self.engine) as connection:
            return list(exported_rows(connection))

    def import_rows(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add rows of this or another ledger, and return how many votes are new."""
        with writing(self.engine) as connection:
            return import_rows(connection, rows)


_EXAMINATIONS = (
    select(queue)
    .where(queue.c.question == Question.LABEL.value, queue.c.mode == Mode.EXAMINATION.value)
    .order_by(queue.c.id)
)


def _pairs(queue_id: int) -> Any:
    return select(item.c.example, item.c["class"]).where(item.c.queue_id == queue_id)


def _added(connection: Connection, row: Any, table: Table, complaint: str) -> RowMapping:
    try:
        return connection.execute(row.returning(*table.c)).mappings().one()
    except IntegrityError:
        raise AlreadyStored(complaint) from None


def _named(among: Sequence[Record], name: str, what: str, *, first: str) -> Record:
    by_name = {getattr(record, "name", ""): record for record in among}
    if name not in by_name:
        raise UnknownName(what, name, list(by_name), first=first)
    return by_name[name]
