"""Questions to an expert about an item of a panel: a comment that begins with ``@NAME:``, and the expert's vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, bindparam, exists, func, select

from regrade.core import AlreadyStored, InputError
from regrade.core.panel import Role
from regrade.ledger.database import snapshot
from regrade.ledger.decisions import current_decision, is_decided
from regrade.ledger.discussion import Discussions
from regrade.ledger.queues import Queues
from regrade.ledger.records import Comment, Item, Person, Queue, may_answer, record_of
from regrade.ledger.schema import IS_CURRENT, comment, item, person, queue, vote

_HAS_VOTED = exists(
    select(vote.c.id).where(vote.c.item_id == item.c.id, vote.c.person_id == bindparam("expert_id"), IS_CURRENT)
)
_OPEN = (
    select(comment, queue.c.id.label("queue_id"))
    .join(item, item.c.id == comment.c.item_id)
    .join(queue, queue.c.id == item.c.queue_id)
    .where(
        func.substr(comment.c.text, 1, bindparam("length")) == bindparam("mark"),
        item.c.missing <= 0,
        ~is_decided(),
        ~_HAS_VOTED,
    )
    .order_by(comment.c.id.desc())
)


@dataclass(frozen=True)
class ExpertQuestion:
    """A question to an ``expert`` about an item: who asked it, when, and their ``note``."""

    item: Item
    expert: Person
    by: Person
    note: str
    at: datetime


class ExpertQuestions:
    """The questions to experts about items of panels. They are comments, and so append-only and in the hash chain."""

    def __init__(self, engine: Engine, queues: Queues, discussions: Discussions) -> None:
        self.engine = engine
        self._queues = queues
        self._discussions = discussions

    def ask(self, of: Queue, item_id: int, by: Person, expert: Person, note: str) -> Comment:
        """Ask a reviewer or an owner to vote on an item that the panel discusses; the note says what is in question.

        Their vote counts as one more vote of the panel, which decides. Raises if the item is not under discussion, and
        if the person may not work on the queue or has voted already.
        """
        if not note.strip():
            raise InputError("the question to an expert is empty: say what is in question")
        self._check_expert(of, by, expert)
        with snapshot(self.engine) as connection:
            _check_open(connection, item_id, expert)
        return self._discussions.comment(item_id, by, f"{_mark(expert)}{note.strip()}")

    def experts(self, of: Queue, by: Person, people: Sequence[Person]) -> tuple[Person, ...]:
        """The experts among some people that a person may ask about items of a queue."""
        assigned = {person.id for person in self._queues.assigned(of)}
        return tuple(
            expert
            for expert in people
            if expert.id != by.id
            and expert.role in (Role.REVIEWER, Role.OWNER)
            and (not assigned or expert.id in assigned)
        )

    def of_comments(
        self, asked_about: Item, comments: Sequence[Comment], people: Sequence[Person]
    ) -> tuple[ExpertQuestion, ...]:
        """The questions among the comments on an item, oldest first."""
        by_id = {person.id: person for person in people}
        questions = []
        for row in comments:
            expert = _addressed(row.text, people)
            if expert is not None:
                note = row.text.removeprefix(_mark(expert))
                questions.append(ExpertQuestion(asked_about, expert, by_id[row.person_id], note, row.at))
        return tuple(questions)

    def open_for(self, expert: Person) -> tuple[tuple[Queue, ExpertQuestion], ...]:
        """The questions that an expert has not answered, on items that the panel has not decided; newest first.

        Only the newest question about an item is returned, and none in a queue on which they may not work.
        """
        mark = _mark(expert)
        parameters = {"mark": mark, "length": len(mark), "expert_id": expert.id}
        with snapshot(self.engine) as connection:
            rows = connection.execute(_OPEN, parameters).mappings().all()
            if not rows:
                return ()
            people = [record_of(Person, row) for row in connection.execute(select(person)).mappings()]
            items = _items(connection, [row["item_id"] for row in rows])
        queues = {of.id: of for of in self._queues.open_to(expert) if of.question.decided}
        newest: dict[int, tuple[Queue, ExpertQuestion]] = {}
        for row in rows:
            of, asked_about = queues.get(row["queue_id"]), items[row["item_id"]]
            for question in self.of_comments(asked_about, [record_of(Comment, row)], people):
                if of is not None and question.expert.id == expert.id:
                    newest.setdefault(asked_about.id, (of, question))
        return tuple(newest.values())

    def _check_expert(self, of: Queue, by: Person, expert: Person) -> None:
        if expert.role not in (Role.REVIEWER, Role.OWNER) or not may_answer(expert.role, of.question):
            raise InputError(f"{expert.name} is a {expert.role.value}: an expert is a reviewer or an owner")
        if expert.id == by.id:
            raise InputError("you cannot ask yourself: vote, or choose another expert")
        assigned = self._queues.assigned(of)
        if assigned and expert.id not in {person.id for person in assigned}:
            raise InputError(f"{of.name} is not for {expert.name}: assign it to them first, on the page Team")


def _check_open(connection: Connection, item_id: int, expert: Person) -> None:
    row = connection.execute(select(item.c.missing).where(item.c.id == item_id)).scalar_one()
    if row > 0:
        raise InputError("votes are missing on this item: an expert is asked once all have voted")
    if current_decision(connection, item_id) is not None:
        raise AlreadyStored("this item is decided: reopen it before you ask an expert")
    voted = select(_HAS_VOTED).select_from(item).where(item.c.id == item_id)
    if connection.execute(voted, {"expert_id": expert.id}).scalar():
        raise AlreadyStored(f"{expert.name} has voted on this item: ask another expert")


def _items(connection: Connection, item_ids: Sequence[int]) -> dict[int, Item]:
    rows = connection.execute(select(item).where(item.c.id.in_(item_ids))).mappings()
    return {row["id"]: record_of(Item, row) for row in rows}


def _mark(expert: Person) -> str:
    """The beginning of a comment that asks an expert."""
    return f"@{expert.name}: "


def _addressed(text: str, people: Sequence[Person]) -> Person | None:
    """The reviewer or owner named by the beginning of a comment; of names that begin with another one, the longest."""
    experts = [person for person in people if person.role in (Role.REVIEWER, Role.OWNER)]
    addressed = [person for person in experts if text.startswith(_mark(person))]
    return max(addressed, key=lambda person: len(person.name), default=None)
