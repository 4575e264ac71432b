"""The votes of people: cast, retracted and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, RowMapping, select

from regrade.core import AlreadyStored
from regrade.ledger import queue_order, voting
from regrade.ledger.chain import extend_chain, extend_chain_and_commit
from regrade.ledger.database import snapshot, writing
from regrade.ledger.decisions import current_decision, decide_if_unanimous, undo_unanimous
from regrade.ledger.questions import check_final, check_reason, check_vote, question_named
from regrade.ledger.records import CountedVote, Person, Queue, Vote, VoteContent, image_set, record_of
from regrade.ledger.schema import IS_CURRENT, decision, item, now_in_utc, person, vote


@dataclass(frozen=True)
class IndependentVote:
    """A vote that was cast without seeing the others' votes, and the seconds it took."""

    item_id: int
    person: str
    answer: str
    severity: str | None
    seconds: float | None


@dataclass(frozen=True)
class PersonsAnswer:
    """A person's last answer about an image of a test set; ``seconds`` is their total time on it, None if unknown."""

    person: str
    test_set: str
    example: str
    answer: str
    seconds: float | None
    at: datetime


class Votes:
    """The votes in a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def cast(self, item_id: int, by: Person, content: VoteContent) -> CountedVote:
        """Cast a person's vote, and return whether they can now see the other votes; unanimous votes decide the item.

        Idempotent: content with the key of a stored vote returns that vote. Raises for an answer that the question
        does not have, an answer without the reason that it needs, a change without a reason, a vote on a decided item,
        and a vote without a reason after one that was retracted after the reveal.
        """
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            question = question_named(item_row["question"])
            check_vote(question, content)
            votes = voting.votes_so_far(connection, item_id, content.key)
            cast = voting.stored_vote(votes, item_row, by.id, content)
            if cast is None:
                check_final(question, voting.last_vote(votes, by.id) is not None)
                check_reason(question, content)
                if item_row["missing"] <= 0 and current_decision(connection, item_id) is not None:
                    raise AlreadyStored("this item is decided: reopen it before changing a vote")
                cast = voting.cast(connection, item_row, votes, by, content, now=now)
                votes.append(cast)
                decided = decide_if_unanimous(connection, item_row, now=now)
                rows = [(vote, cast), *([(decision, decided)] if decided else [])]
                extend_chain_and_commit(connection, rows, item_row)
        return CountedVote(record_of(Vote, cast), revealed=voting.reveals(item_row, votes, by))

    def cast_all(self, by: Person, contents: Mapping[int, VoteContent]) -> tuple[int, ...]:
        """Cast a person's votes on several items, by item id, in one transaction.

        Returns the ids of the items that others decided in the meantime, on which nothing was cast; any other problem
        raises, and then none of the votes is stored. A vote with a reason for changing it (``why``) reverts a decision
        that was reached automatically. Idempotent, as `cast`.
        """
        now = self._now()
        with writing(self.engine) as connection:
            # all items are locked before the chain is: a person who votes on one of them locks in the same order
            items = [voting.locked_for_vote(connection, item_id, by.id) for item_id in sorted(contents)]
            return tuple(
                row["id"]
                for row in items
                if not _cast_unless_decided(connection, row, by, contents[row["id"]], now=now)
            )

    def has_key(self, key: str) -> bool:
        """Whether there is a vote with this key, by anyone."""
        with self.engine.connect() as connection:
            return voting.is_stored(connection, key)

    def retract(self, item_id: int, by: Person, *, key: str, why: str = "", undone: str | None = None) -> Vote:
        """Retract a person's vote and give them the item again; a decision by unanimous votes is reverted with it.

        After the reveal a reason is required (`ReasonNeeded`). ``undone`` is the key of the vote to retract: raises if
        the current vote is another one; does nothing if it is already retracted.
        """
        now = self._now()
        with writing(self.engine) as connection:
            item_row = voting.locked_for_vote(connection, item_id, by.id)
            check_final(question_named(item_row["question"]), answered=True)
            retraction = VoteContent(key, None, why=why.strip() or voting.UNDONE)
            votes = voting.votes_so_far(connection, item_id, key)
            row = voting.stored_vote(votes, item_row, by.id, retraction)
            if row is None and undone is not None:
                row = voting.stored_retraction(votes, by.id, undone)
            if row is None:
                undo_unanimous(connection, item_id, by.id, why=retraction.why, now=now)
                row = voting.cast(connection, item_row, votes, by, retraction, now=now)
                queue_order.hold(connection, item_row, by.id, now=now)
                extend_chain_and_commit(connection, [(vote, row)], item_row)
        return record_of(Vote, row)

    def is_revealed(self, item_id: int, person: Person) -> bool:
        """Whether a person may have seen another person's vote on an item; if so, changes need a reason."""
        with self.engine.connect() as connection:
            return voting.is_revealed(connection, item_id, person)

    def last(self, by: Person, of: Queue) -> Vote | None:
        """A person's newest current vote in a queue: the one that undo retracts."""
        with self.engine.connect() as connection:
            row = voting.newest_vote(connection, of.id, by.id)
        return None if row is None else record_of(Vote, row)

    def independent(self, of: Queue, *, revealed_only: bool = False) -> tuple[IndependentVote, ...]:
        """The votes that were cast before their voters could see each other's, from which agreement is computed.

        ``revealed_only`` leaves out incomplete items, for people who may still have to vote on them.
        """
        with snapshot(self.engine) as connection:
            return _independent(connection, of.id, revealed_only=revealed_only)

    def last_answers(self, of: Queue) -> tuple[PersonsAnswer, ...]:
        """Each person's last answer to each item of a queue, oldest first."""
        with snapshot(self.engine) as connection:
            return _last_answers(connection, of)


def _cast_unless_decided(
    connection: Connection, item_row: RowMapping, by: Person, content: VoteContent, *, now: datetime
) -> bool:
    """Cast a vote on a locked item as part of a transaction; False if others decided the item in the meantime."""
    item_id, question = item_row["id"], question_named(item_row["question"])
    check_vote(question, content)
    votes = voting.votes_so_far(connection, item_id, content.key)
    if voting.stored_vote(votes, item_row, by.id, content) is not None:
        return True
    own = voting.last_vote(votes, by.id)
    check_final(question, own is not None)
    check_reason(question, content)
    if current_decision(connection, item_id) is not None:
        if own is None or own["answer"] is None:
            return False
        undo_unanimous(connection, item_id, by.id, why=content.why, now=now)
    extend_chain(connection, vote, [voting.cast(connection, item_row, votes, by, content, now=now)])
    if (decided := decide_if_unanimous(connection, item_row, now=now)) is not None:
        extend_chain(connection, decision, [decided])
    return True


def _independent(connection: Connection, queue_id: int, *, revealed_only: bool = False) -> tuple[IndependentVote, ...]:
    """The votes on each item of a queue at the time when its last missing vote was cast, or now if some are missing.

    Later votes and changes are not independent, since everyone can see all votes of a complete item. Votes that were
    replaced or retracted before do not count. ``revealed_only`` leaves out incomplete items, for people who may still
    have to vote on them.
    """
    columns = (vote.c.item_id, item.c.needed, person.c.name, vote.c.answer, vote.c.severity, vote.c.seconds)
    votes = select(*columns).join(person, person.c.id == vote.c.person_id).join(item, item.c.id == vote.c.item_id)
    by_item: dict[int, dict[str, IndependentVote]] = {}
    complete: set[int] = set()
    for item_id, needed, name, answer, severity, seconds in connection.execute(
        votes.where(item.c.queue_id == queue_id).order_by(vote.c.id)
    ):
        if item_id in complete:
            continue
        by_person = by_item.setdefault(item_id, {})
        by_person.pop(name, None)
        if answer is not None:
            by_person[name] = IndependentVote(item_id, name, answer, severity, seconds)
        if len(by_person) == needed:
            complete.add(item_id)
    included = complete if revealed_only else by_item.keys()
    return tuple(cast for item_id, by_person in by_item.items() if item_id in included for cast in by_person.values())


def _last_answers(connection: Connection, of: Queue) -> tuple[PersonsAnswer, ...]:
    """Each person's last answer to each item of a queue, without retracted ones, oldest first."""
    vote_ids = select(vote.c.id).join(item, item.c.id == vote.c.item_id).where(item.c.queue_id == of.id)
    current = set(connection.execute(vote_ids.where(IS_CURRENT)).scalars())
    seconds: dict[tuple[int, str], float] = {}
    answers = []
    for row in connection.execute(voting.votes_in(of.id)):
        item_and_person = row.item_id, row.name
        if row.seconds is not None:
            seconds[item_and_person] = seconds.get(item_and_person, 0.0) + row.seconds
        if row.id in current:
            test_set, total = image_set(of, row.class_id), seconds.get(item_and_person)
            answers.append(PersonsAnswer(row.name, test_set, row.example, row.answer, total, row.at))
    return tuple(answers)
