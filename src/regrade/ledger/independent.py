"""Independent votes: what people said of an item before anyone could see what the others say."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from regrade.ledger.schema import item, person, vote


@dataclass(frozen=True)
class IndependentVote:
    """What someone said of an item while blind to the others' votes, and how long it took."""

    item_id: int
    person: str
    answer: str
    severity: str | None
    seconds: float | None


def independent_votes(
    connection: Connection, queue_id: int, *, revealed_only: bool = False
) -> tuple[IndependentVote, ...]:
    """The votes on a queue's items as they stood when no more was missing; as they stand now where some still are.

    From then on everyone sees everyone's: a vote that changes later, or comes on top, is not independent. A slip that
    was taken back before is none. ``revealed_only`` leaves out items that some votes are missing of: those who still
    vote on them must learn nothing of the others' votes.
    """
    columns = (vote.c.item_id, item.c.needed, person.c.name, vote.c.answer, vote.c.severity, vote.c.seconds)
    found = select(*columns).join(person, person.c.id == vote.c.person_id).join(item, item.c.id == vote.c.item_id)
    by_item: dict[int, dict[str, IndependentVote]] = {}
    complete: set[int] = set()
    for number, needed, name, answer, severity, seconds in connection.execute(
        found.where(item.c.queue_id == queue_id).order_by(vote.c.id)
    ):
        if number in complete:
            continue
        said = by_item.setdefault(number, {})
        said.pop(name, None)
        if answer is not None:
            said[name] = IndependentVote(number, name, answer, severity, seconds)
        if len(said) == needed:
            complete.add(number)
    shown = complete if revealed_only else by_item.keys()
    return tuple(one for number, said in by_item.items() if number in shown for one in said.values())
