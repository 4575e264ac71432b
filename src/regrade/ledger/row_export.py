"""Export a ledger as plain rows, with names instead of ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from regrade.ledger.schema import assignment, comment, decision, guide_entry, item, person, queue, report, vote

KINDS = ("person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide")
"""The kinds of rows, in the order of import. Accounts, invitations and secrets are never exported."""

_ITEM = (queue.c.name.label("queue"), item.c.example, item.c["class"])


def exported_rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """Every person, queue, assignment, item, vote, comment, decision, report and guide entry, oldest first.

    Each row has a ``kind``.
    """
    for kind in KINDS:
        for row in connection.execute(_SELECTS[kind]).mappings():
            yield {"kind": kind, **row}


def _of_items(*columns: Any, source: Any, by: Any) -> Select[Any]:
    return (
        select(*_ITEM, by.c.name.label("person"), *columns)
        .select_from(source)
        .join(item, item.c.id == source.c.item_id)
        .join(queue, queue.c.id == item.c.queue_id)
        .join(by, by.c.id == source.c.person_id, isouter=True)
        .order_by(source.c.id)
    )


_CLEARED_BY = person.alias("clearer")

_SELECTS: dict[str, Select[Any]] = {
    "person": select(person.c.name.label("person"), person.c.role, person.c.joined.label("at")).order_by(person.c.id),
    "queue": select(
        queue.c.name.label("queue"),
        queue.c.question,
        queue.c.test_set,
        queue.c.labels,
        queue.c.overlap,
        queue.c.model,
        queue.c.mode,
        queue.c.opened.label("at"),
    ).order_by(queue.c.id),
    "assignment": select(queue.c.name.label("queue"), person.c.name.label("person"))
    .select_from(assignment)
    .join(queue, queue.c.id == assignment.c.queue_id)
    .join(person, person.c.id == assignment.c.person_id)
    .order_by(assignment.c.queue_id, assignment.c.person_id),
    "item": select(*_ITEM, item.c.stratum, item.c.needed)
    .join(queue, queue.c.id == item.c.queue_id)
    .order_by(item.c.queue_id, item.c.place),
    "vote": _of_items(
        vote.c.key,
        vote.c.answer,
        vote.c.severity,
        vote.c.reason,
        vote.c.why,
        vote.c.seconds,
        vote.c.at,
        source=vote,
        by=person,
    ),
    "comment": _of_items(comment.c.text, comment.c.at, source=comment, by=person),
    "decision": _of_items(
        decision.c.answer,
        decision.c.severity,
        decision.c.reached,
        decision.c.why,
        select(vote.c.key).where(vote.c.id == decision.c.last_vote).scalar_subquery().label("last_vote"),
        decision.c.at,
        source=decision,
        by=person,
    ),
    "report": _of_items(
        report.c.text,
        report.c.at,
        report.c.cleared,
        select(_CLEARED_BY.c.name).where(_CLEARED_BY.c.id == report.c.cleared_by).scalar_subquery().label("cleared_by"),
        source=report,
        by=person,
    ),
    "guide": select(
        guide_entry.c.class_space,
        guide_entry.c["class"],
        person.c.name.label("person"),
        guide_entry.c.text,
        guide_entry.c.traits,
        guide_entry.c.examples,
        guide_entry.c.alike,
        guide_entry.c.why,
        guide_entry.c.at,
    )
    .join(person, person.c.id == guide_entry.c.person_id)
    .order_by(guide_entry.c.id),
}
