"""A ledger, and everything that can be done with it."""

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
from regrade.core.similar_names import check_distinct_names
from regrade.ledger import assignment, decisions, discussion, overview, pace, queue_order, voting
from regrade.ledger.answers import check_ballot
from regrade.ledger.appending import append_items
from regrade.ledger.chain import ChainLink, chain_problems, extend_chain, has_link, last_link
from regrade.ledger.clock import now_in_utc
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
from regrade.ledger.independent import IndependentVote, independent_votes
from regrade.ledger.integrity import integrity_problems
from regrade.ledger.ledger_file import back_up
from regrade.ledger.names import check_name, check_not_alike
from regrade.ledger.outcomes import PersonsAnswer, PublishedDecision, last_answers, outcomes
from regrade.ledger.overlap import OverlapChange, change_overlap
from regrade.ledger.overview import QueueProgress
from regrade.ledger.pace import Pace
from regrade.ledger.record_mapping import Record, record_of
from regrade.ledger.record_rows import record_rows
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
    Role,
    Vote,
    VoteContent,
)
from regrade.ledger.reveal import is_revealed, reveals
from regrade.ledger.row_import import read_back
from regrade.ledger.schema import comment, item, person, queue


class Ledger:
    """People's judgments, in SQLite or PostgreSQL; nothing in it is ever overwritten.

    ``clock`` tells the time, for tests that need to set it.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        """The ledger in a file, made if missing, or at a PostgreSQL address."""
        return cls(open_database(place))

    @classmethod
    @contextmanager
    def unchanged(cls, place: str | Path) -> Iterator[Ledger]:
        """The ledger at a place, or a copy of it in the newest form, for whoever checks it: nothing is written."""
        with unchanged_database(place) as engine:
            yield cls(engine)

    @property
    def place(self) -> str:
        """Where the ledger is, without a password."""
        return shown_place(self.engine)

    # People

    def add_person(self, name: str, role: Role) -> Person:
        """Someone new; a name that is taken, or too like another's to tell them apart, raises."""
        check_name("person", name)
        row = insert(person).values(name=name, role=role.value, joined=self._now())
        with writing(self.engine) as connection:
            check_not_alike([name], connection.execute(select(person.c.name)).scalars())
            return record_of(Person, _added(connection, row, person, f"someone is called {name!r} already"))

    def people(self) -> tuple[Person, ...]:
        """Everyone, in the order in which they came."""
        with self.engine.connect() as connection:
            found = connection.execute(select(person).order_by(person.c.id)).mappings()
            return tuple(record_of(Person, row) for row in found)

    def set_role(self, of: Person, role: Role) -> Person:
        """Let someone do more, or less; the last owner stays one."""
        with writing(self.engine) as connection:
            known = select(person.c.id).where(person.c.role == Role.OWNER.value).with_for_update(key_share=True)
            owners = connection.execute(known).scalars().all()
            if role is not Role.OWNER and owners == [of.id]:
                raise InputError(f"{of.name} is the only owner: make someone else one first")
            changed = update(person).where(person.c.id == of.id).values(role=role.value)
            return record_of(Person, connection.execute(changed.returning(*person.c)).mappings().one())

    def person(self, name: str) -> Person:
        """Someone by name."""
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
        """A new queue, empty, whose items are each for ``overlap`` people; a name that is taken raises.

        ``labels`` names the label set that its items are held against, and ``model`` whose predictions they are.
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
        """Let the items of a queue need another number of votes, as far as they are not complete yet.

        ``dry_run`` only says what that would do.
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
            found = connection.execute(select(queue).order_by(queue.c.id)).mappings()
            return tuple(record_of(Queue, row) for row in found)

    def examinations(self) -> tuple[Queue, ...]:
        """The queues that people are examined by, oldest first."""
        with self.engine.connect() as connection:
            return tuple(record_of(Queue, row) for row in connection.execute(_EXAMINATIONS).mappings())

    def queue(self, name: str) -> Queue:
        """A queue by name."""
        return _named(self.queues(), name, "queue", first="regrade review queue")

    def assign(self, of: Queue, people: Sequence[Person]) -> None:
        """Give a queue to these people and no one else; to everyone again where there are none."""
        for one in people:
            if not assignment.may_answer(one.role, of.question):
                raise InputError(f"{one.name} is a labeler, and {of.name} shows what models say: it is for reviewers")
        with writing(self.engine) as connection:
            queue_order.lock_queue(connection, of.id)
            assignment.assign(connection, of.id, [one.id for one in people])

    def assigned(self, of: Queue) -> tuple[Person, ...]:
        """The people a queue was given to, none where it is for everyone whose role allows it."""
        with self.engine.connect() as connection:
            return tuple(record_of(Person, row) for row in assignment.assigned(connection, of.id))

    def queues_of(self, whom: Person) -> tuple[Queue, ...]:
        """The queues that someone may work on, oldest first: those given to them, and those given to no one.

        Labelers only label; what shows models' answers is for reviewers and owners.
        """
        with self.engine.connect() as connection:
            return tuple(record_of(Queue, row) for row in assignment.open_to(connection, whom))

    def queue_for(self, whom: Person, queue_id: int) -> Queue:
        """A queue by its number, if someone may work on it."""
        with self.engine.connect() as connection:
            found = assignment.queue_for(connection, whom, queue_id)
        if found is None:
            raise UnknownName("queue", str(queue_id), None)
        return record_of(Queue, found)

    def item_for(self, whom: Person, queue_id: int, item_id: int) -> tuple[Queue, Item]:
        """An item and its queue by their numbers, if someone may work on the queue."""
        with self.engine.connect() as connection:
            queue_row, item_row = assignment.item_for(connection, whom, queue_id, item_id)
        if queue_row is None:
            raise UnknownName("queue", str(queue_id), None)
        if item_row is None:
            raise UnknownName("item", str(item_id), None)
        return record_of(Queue, queue_row), record_of(Item, item_row)

    def filling(self) -> AbstractContextManager[None]:
        """Fill queues while no one else does; use it within the lock of the workspace."""
        return filling(self.engine)

    def add_items(self, to: Queue, items: Iterable[NewItem]) -> int:
        """Put items at the end of a queue and say how many are new: those it has already are passed over."""
        with writing(self.engine) as connection:
            queue_order.lock_queue(connection, to.id)
            known = set(connection.execute(_pairs(to.id)))
            fresh = {(one.example, one.class_id): one for one in items if (one.example, one.class_id) not in known}
            needed = connection.execute(select(queue.c.overlap).where(queue.c.id == to.id)).scalar_one()
            append_items(connection, to.id, list(fresh.values()), needed=needed)
        return len(fresh)

    def next_item(self, of: Queue, to: Person, *, after: int | None = None) -> Item | None:
        """What someone is asked next, and keeps for a while; nothing when they are done.

        ``after`` is the item before them: they are given the one that comes when it is answered.
        """
        with writing_unsynced(self.engine) as connection:
            row = queue_order.next_item(connection, of.id, to.id, now=self._now(), after=after)
        return None if row is None else record_of(Item, row)

    def skip(self, item_id: int, by: Person) -> None:
        """Put an item off for someone; what they skipped is kept for no one, and comes back by `return_skipped`."""
        with writing(self.engine) as connection:
            queue_order.skip_item(connection, voting.locked_item(connection, item_id), by.id)

    def skipped(self, of: Queue, by: Person) -> int:
        """How many items of a queue someone has skipped that still need their answer."""
        with self.engine.connect() as connection:
            return queue_order.count_skipped(connection, of.id, by.id)

    def return_skipped(self, of: Queue, by: Person) -> None:
        """Give someone the items of a queue again that they have skipped."""
        with writing(self.engine) as connection:
            queue_order.return_skipped(connection, of.id, by.id)

    def item(self, item_id: int) -> Item:
        """An item by its number."""
        with self.engine.connect() as connection:
            found = connection.execute(select(item).where(item.c.id == item_id)).mappings().first()
        if found is None:
            raise UnknownName("item", str(item_id), None)
        return record_of(Item, found)

    # Votes

    def vote(self, item_id: int, by: Person, ballot: VoteContent) -> Vote:
        """Add someone's vote; a unanimous panel has then decided.

        The same ballot a second time is the vote it was. An answer that the question does not know, a change without
        a reason and a vote on what is decided raise; so does a vote without a reason that follows one taken back
        after the reveal.
        """
        return self.count(item_id, by, ballot).vote

    def count(self, item_id: int, by: Person, ballot: VoteContent) -> CountedVote:
        """Add someone's vote as `vote` does, and say whether they can see the votes of others on the item by now."""
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            check_ballot(Question(item_row["question"]), ballot)
            votes = voting.votes_so_far(connection, item_id, ballot.key)
            cast = voting.counted(votes, item_row, by.id, ballot)
            if cast is None:
                if item_row["missing"] <= 0 and decisions.decided(connection, item_id) is not None:
                    raise AlreadyStored("this item is decided: it must be opened again before a vote can change")
                cast = voting.cast(connection, item_row, votes, by, ballot, now=now)
                votes.append(cast)
                decisions.decide_if_unanimous(connection, item_row, now=now)
        return CountedVote(record_of(Vote, cast), revealed=reveals(item_row, votes, by))

    def has_ballot(self, key: str) -> bool:
        """Whether the ballot with this key was counted, whoever gave it."""
        with self.engine.connect() as connection:
            return voting.is_counted(connection, key)

    def take_back(self, item_id: int, by: Person, *, key: str, why: str = "", undone: str | None = None) -> Vote:
        """Take back someone's vote and give them the item again; a decision that all were at one on falls with it.

        After the reveal a reason is needed (`ReasonNeeded`). ``undone`` is the key of the vote that is meant: where
        another one stands by now, it raises, and where that one is taken back already, nothing changes.
        """
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            ballot = VoteContent(key, None, why=why.strip() or voting.UNDONE)
            votes = voting.votes_so_far(connection, item_id, key)
            taken = voting.counted(votes, item_row, by.id, ballot)
            if taken is None and undone is not None:
                taken = voting.already_undone(votes, by.id, undone)
            if taken is None:
                decisions.undo_unanimous(connection, item_id, by.id, why=ballot.why, now=now)
                taken = voting.cast(connection, item_row, votes, by, ballot, now=now)
                queue_order.hold(connection, item_row, by.id, now=now)
        return record_of(Vote, taken)

    def is_revealed(self, item_id: int, person: Person) -> bool:
        """Whether someone may have seen another person's vote on an item: from then on changes need a reason."""
        with self.engine.connect() as connection:
            return is_revealed(connection, item_id, person)

    def votes_seen_by(self, item_id: int, viewer: Person) -> tuple[Vote, ...]:
        """The votes on an item that someone may see: their own, and everyone's once all have voted."""
        with self.engine.connect() as connection:
            votes = [record_of(Vote, row) for row in voting.standing_votes(connection, item_id)]
            blind = connection.execute(select(item.c.missing).where(item.c.id == item_id)).scalar_one() > 0
        return tuple(one for one in votes if not blind or one.person_id == viewer.id)

    def last_vote_of(self, by: Person, of: Queue) -> Vote | None:
        """Someone's newest vote in a queue that stands: what undo takes back."""
        with self.engine.connect() as connection:
            found = voting.newest_vote(connection, of.id, by.id)
        return None if found is None else record_of(Vote, found)

    def independent_votes(self, of: Queue, *, revealed_only: bool = False) -> tuple[IndependentVote, ...]:
        """What people said of a queue's items before they could see what others say: what agreement is made of.

        ``revealed_only``: of items that all have voted on, which is what those who still vote may know.
        """
        with snapshot(self.engine) as connection:
            return independent_votes(connection, of.id, revealed_only=revealed_only)

    def progress(self, of: Queue) -> QueueProgress:
        """How far a queue has come."""
        with snapshot(self.engine) as connection:
            return overview.progress(connection, of)

    def pace(self, of: Queue, whom: Person) -> Pace:
        """How fast someone works through a queue, and what is left for them."""
        with self.engine.connect() as connection:
            return pace.pace(connection, of.id, whom.id)

    # Discussion and decisions

    def disputed(self, of: Queue) -> tuple[Item, ...]:
        """Items that all have voted on and not alike, and that no one has decided yet."""
        with self.engine.connect() as connection:
            return tuple(record_of(Item, row) for row in connection.execute(overview.disputed_items(of.id)).mappings())

    def comment(self, item_id: int, by: Person, text: str) -> Comment:
        """Say something of an item; one's own last words a second time are what they were."""
        if not text.strip():
            raise InputError("a comment has a text")
        row = insert(comment).values(item_id=item_id, person_id=by.id, text=text.strip(), at=self._now())
        with writing(self.engine) as connection:
            voting.locked_item(connection, item_id)
            last = discussion.last_comment(connection, item_id)
            if last is not None and (last["person_id"], last["text"]) == (by.id, text.strip()):
                return record_of(Comment, last)
            added = _added(connection, row, comment, "this item is not there")
            extend_chain(connection, comment, [added])
            return record_of(Comment, added)

    def comments(self, item_id: int) -> tuple[Comment, ...]:
        """What was said of an item, oldest first."""
        found = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id)
        with self.engine.connect() as connection:
            return tuple(record_of(Comment, row) for row in connection.execute(found).mappings())

    def lock(self, item_id: int, by: Person, *, why: str = "", seen: int | None = None) -> Decision:
        """Decide an item that all have voted on by what most say.

        ``seen`` is the newest vote that they have seen: where another one stands by now, nothing is decided.
        """
        with writing(self.engine) as connection:
            locked = decisions.lock(connection, item_id, by.id, why=why, seen=seen, now=self._now())
            return record_of(Decision, locked)

    def reopen(self, item_id: int, by: Person, *, why: str) -> Decision:
        """Take a decision back, so that votes may change."""
        with writing(self.engine) as connection:
            return record_of(Decision, decisions.reopen(connection, item_id, by.id, why=why, now=self._now()))

    def decision(self, item_id: int) -> Decision | None:
        """What was decided of an item."""
        with self.engine.connect() as connection:
            found = decisions.decided(connection, item_id)
        return None if found is None else record_of(Decision, found)

    # What came of it

    def pairs(self, of: Queue) -> tuple[tuple[str, str], ...]:
        """The image and class of every item of a queue."""
        with self.engine.connect() as connection:
            return tuple((example, class_id) for example, class_id in connection.execute(_pairs(of.id)))

    def outcomes(self, of: Queue) -> tuple[PublishedDecision, ...]:
        """The decisions of a queue that stand, in the order in which they were made."""
        with snapshot(self.engine) as connection:
            return outcomes(connection, of.id)

    def last_answers(self, of: Queue) -> tuple[PersonsAnswer, ...]:
        """Everyone's last answer to each item of a queue, oldest first."""
        with snapshot(self.engine) as connection:
            return last_answers(connection, of.id)

    # Whether it is whole

    def last_link(self) -> ChainLink:
        """The last link of the hash chain, which stands for all that people said so far."""
        with self.engine.connect() as connection:
            return last_link(connection)

    def has_link(self, link: ChainLink) -> bool:
        """Whether a link that was noted is in the hash chain: one lookup, which recomputes nothing."""
        with self.engine.connect() as connection:
            return has_link(connection, link)

    def identity(self) -> str:
        """What tells this ledger from every other: a random text that was chosen when it was created."""
        return identity(self.engine)

    def stored_identity(self) -> str | None:
        """What tells this ledger from every other; none where it is not chosen yet."""
        return stored_identity(self.engine)

    def back_up(self, path: Path) -> None:
        """Copy the ledger, as it is at one moment, to a new file; others go on voting meanwhile."""
        back_up(self.engine, path)

    def problems(self, *, noted: Iterable[ChainLink] = ()) -> tuple[str, ...]:
        """What is wrong with the database, its triggers and its hash chain; ``noted`` links must be in it."""
        problems = []
        with snapshot(self.engine) as connection:
            try:
                for problem in chain(integrity_problems(connection), chain_problems(connection, noted)):
                    problems.append(problem)
            except LedgerDamaged as error:  # what cannot be read cannot be checked further
                problems.append(str(error))
        return tuple(problems)

    # Taking it along

    def rows(self) -> list[dict[str, Any]]:
        """Everything in the ledger as plain rows, with names and times."""
        with snapshot(self.engine) as connection:
            return list(record_rows(connection))

    def read_back(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add rows of this or another ledger, and say how many votes are new."""
        with writing(self.engine) as connection:
            return read_back(connection, rows)


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
    found = next((one for one in among if getattr(one, "name", None) == name), None)
    if found is None:
        raise UnknownName(what, name, [getattr(one, "name", "") for one in among], first=first)
    return found
