"""What people were asked about one picture, and as much of what they said as someone may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, select

from regrade.ledger.deciding import decided
from regrade.ledger.records import Mode, Person, Question
from regrade.ledger.schema import comment, item, person, queue
from regrade.ledger.voting import standing_votes


@dataclass(frozen=True)
class SeenVote:
    """A vote, and whose it is."""

    person: str
    answer: str
    severity: str | None
    reason: str
    at: datetime


@dataclass(frozen=True)
class SeenComment:
    """A comment, and whose it is."""

    person: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Asked:
    """One item about a picture; ``missing`` people have not answered, and until they have, only one's own is seen."""

    item_id: int
    queue_id: int
    queue: str
    question: Question
    mode: Mode
    class_id: str
    missing: int
    votes: tuple[SeenVote, ...]
    comments: tuple[SeenComment, ...]
    decision: str
    severity: str | None


def about_picture(engine: Engine, test_set: str, example: str, viewer: Person) -> tuple[Asked, ...]:
    """Every item about a picture, oldest queue first; others' votes and comments only once no vote is missing."""
    with engine.connect() as connection:
        names = dict(connection.execute(select(person.c.id, person.c.name)).all())
        queues = connection.execute(select(queue).where(queue.c.test_set == test_set).order_by(queue.c.id)).mappings()
        found = []
        for of in queues.all():
            mine = select(item).where(item.c.queue_id == of["id"], item.c.example == example).order_by(item.c.id)
            for one in connection.execute(mine).mappings().all():
                open_to_all = one["missing"] <= 0
                votes = [
                    SeenVote(names[row["person_id"]], row["answer"], row["severity"], row["reason"], row["at"])
                    for row in standing_votes(connection, one["id"])
                    if open_to_all or row["person_id"] == viewer.id
                ]
                said = select(comment).where(comment.c.item_id == one["id"]).order_by(comment.c.id)
                comments = [
                    SeenComment(names[row["person_id"]], row["text"], row["at"])
                    for row in connection.execute(said).mappings()
                    if open_to_all or row["person_id"] == viewer.id
                ]
                decision = decided(connection, one["id"]) if open_to_all else None
                found.append(
                    Asked(
                        one["id"], of["id"], of["name"], Question(of["question"]), Mode(of["mode"]), one["class"],
                        one["missing"], tuple(votes), tuple(comments),
                        "" if decision is None else decision["answer"],
                        None if decision is None else decision["severity"],
                    )
                )  # fmt: skip
        return tuple(found)
