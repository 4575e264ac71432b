"""Independent votes: those cast before the voters could see each other's votes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from regrade.ledger.schema import item, person, vote


@dataclass(frozen=True)
class IndependentVote:
    """A vote that was cast without seeing the others' votes, and the seconds it took."""

    item_id: int
    person: str
    answer: str
    severity: str | None
    seconds: float | None


def independent_votes(
    connection: Connection, queue_id: int, *, revealed_only: bool = False
) -> tuple[IndependentVote, ...]:
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
