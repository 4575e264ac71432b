"""Import rows into a ledger; rows that it already has are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from regrade.core import FormatError, InputError, MismatchError
from regrade.ledger.chain import link_rows_after
from regrade.ledger.decisions import REOPENED
from regrade.ledger.people import check_name, check_not_similar
from regrade.ledger.questions import Question, check_vote, question_named
from regrade.ledger.queue_order import append_items
from regrade.ledger.records import NewItem, VoteContent
from regrade.ledger.row_format import Row, validated_rows
from regrade.ledger.schema import (
    APPEND_ONLY,
    IS_CURRENT,
    assignment,
    comment,
    decision,
    guide_entry,
    item,
    person,
    proposal,
    queue,
    report,
    vote,
    worker_event,
)

ItemKey = tuple[str, str, str]
_VOTE = ("key", "item_id", "person_id", "answer", "severity")


def import_rows(connection: Connection, rows: Iterable[Row]) -> int:
    """Add rows in the format of `exported_rows`, and return how many votes were new.

    People and queues are identified by name, items by image and class, votes by key. Raises for an invalid row, a row
    that refers to something that neither the rows nor the ledger contain, and a queue with another question, test set,
    labels, model, mode or purpose than the queue of the same name.
    """
    by_kind = validated_rows(rows)
    if connection.dialect.name == "postgresql":
        # in the order of other writers: adding items locks the queue first, voting locks the item
        connection.execute(select(queue.c.id).order_by(queue.c.id).with_for_update(key_share=True))
        connection.exec_driver_sql("LOCK TABLE item IN EXCLUSIVE MODE")
    people = _people(connection, by_kind["person"])
    queues = _queues(connection, by_kind["queue"])
    _assignments(connection, people, queues, by_kind["assignment"])
    items = _items(connection, queues, by_kind["item"])
    before = {table.name: _newest(connection, table) for table in APPEND_ONLY}
    new_votes = _votes(connection, people, items, by_kind["vote"])
    _comments(connection, people, items, by_kind["comment"])
    _decisions(connection, people, items, by_kind["decision"])
    _reports(connection, people, items, by_kind["report"])
    _guide(connection, people, by_kind["guide"])
    _worker_events(connection, people, queues, by_kind["worker_event"])
    _proposals(connection, people, items, by_kind["proposal"])
    _count_missing(connection)
    for table in APPEND_ONLY:
        link_rows_after(connection, table, before[table.name])
    return new_votes


def _newest(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.max(table.c.id))).scalar() or 0


def _people(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    stored = _ids_by_name(connection, person)
    new_people = {
        row["person"]: {"name": row["person"], "role": row["role"], "joined": row["at"]}
        for row in rows
        if row["person"] not in stored
    }
    for name in new_people:
        _check_name("person", name)
    check_not_similar(new_people, stored)
    if new_people:
        connection.execute(insert(person), list(new_people.values()))
    return _ids_by_name(connection, person)


def _check_name(what: str, name: str) -> None:
    try:
        check_name(what, name)
    except InputError as error:
        raise FormatError(str(error)) from None


def _queues(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    compared = ("question", "test_set", "labels", "model", "mode")
    queues = {row["name"]: dict(row) for row in connection.execute(select(queue)).mappings()}
    for row in rows:
        same_name = queues.get(row["queue"])
        if same_name is None:
            _check_name("queue", row["queue"])
            queues[row["queue"]] = values = {name: row[name] for name in (*compared, "overlap", "purpose")}
            values["build"] = row["build"] or ""
            connection.execute(insert(queue).values(name=row["queue"], opened=row["at"], **values))
        elif differs := [name for name in (*compared, "purpose") if not _agree(same_name[name], row[name])]:
            raise MismatchError(
                f"row {row['row']}: there is a queue {row['queue']!r} already, with another {differs[0]}"
            )
    return _ids_by_name(connection, queue)


def _agree(stored: str | None, imported: str | None) -> bool:
    """Whether two values are the same, or one of them, such as the purpose of an earlier version, is not recorded."""
    return stored == imported or stored is None or imported is None


def _assignments(connection: Connection, people: dict[str, int], queues: dict[str, int], rows: Iterable[Row]) -> None:
    stored = {tuple(row) for row in connection.execute(select(assignment.c.queue_id, assignment.c.person_id))}
    for row in rows:
        queue_id, person_id = _id(queues, row["queue"], "queue", row), _id(people, row["person"], "person", row)
        if (queue_id, person_id) not in stored:
            connection.execute(insert(assignment).values(queue_id=queue_id, person_id=person_id))
            stored.add((queue_id, person_id))


def _items(connection: Connection, queues: dict[str, int], rows: Iterable[Row]) -> dict[ItemKey, int]:
    stored = _item_ids(connection)
    by_queue: dict[str, dict[ItemKey, NewItem]] = {}
    for row in rows:
        _id(queues, row["queue"], "queue", row)
        if _item_key(row) not in stored:
            new_items = by_queue.setdefault(row["queue"], {})
            new_items[_item_key(row)] = NewItem(row["example"], row["class"], row["stratum"], needed=row["needed"])
    overlaps = dict(connection.execute(select(queue.c.name, queue.c.overlap)).all())
    for name, items in by_queue.items():
        append_items(connection, queues[name], list(items.values()), needed=overlaps[name])
    return _item_ids(connection)


def _votes(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> int:
    votes = {row.key: tuple(row) for row in connection.execute(select(*(vote.c[name] for name in _VOTE)))}
    questions = _questions(connection)
    last = dict(
        ((row.item_id, row.person_id), row.id)
        for row in connection.execute(select(vote.c.item_id, vote.c.person_id, vote.c.id).order_by(vote.c.id))
    )
    added, new_votes = set(votes), []
    for row in rows:
        item_id, person_id = _id(items, _item_key(row), "item", row), _id(people, row["person"], "person", row)
        values = (row["key"], item_id, person_id, row["answer"], row["severity"])
        if votes.setdefault(row["key"], values) != values:
            raise MismatchError(
                f"row {row['row']}: there is a vote {row['key']!r} already, with another item, person or answer"
            )
        if row["key"] in added:
            continue
        added.add(row["key"])
        _check_answer(questions[row["queue"]], row)
        copied = {name: row[name] for name in ("key", "answer", "severity", "reason", "why", "seconds", "at")}
        new_votes.append(((item_id, person_id), {"item_id": item_id, "person_id": person_id, **copied}))
    _add_replacing(connection, vote, new_votes, last)
    return len(new_votes)


def _comments(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    names = ("item_id", "person_id", "text", "at")
    stored = {tuple(row) for row in connection.execute(select(*(comment.c[name] for name in names)))}
    for row in rows:
        person_id = _id(people, row["person"], "person", row)
        values = _id(items, _item_key(row), "item", row), person_id, row["text"], row["at"]
        if values not in stored:
            connection.execute(insert(comment).values(**dict(zip(names, values, strict=True))))
            stored.add(values)


def _decisions(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    votes = dict(connection.execute(select(vote.c.key, vote.c.id)).all())
    questions = _questions(connection)
    names = ("item_id", "reached", "at")
    stored = {tuple(row) for row in connection.execute(select(*(decision.c[name] for name in names)))}
    last = {row.item_id: row.id for row in connection.execute(select(decision).order_by(decision.c.id))}
    new_decisions = []
    for row in rows:
        item_id = _id(items, _item_key(row), "item", row)
        if (item_id, row["reached"], row["at"]) in stored:
            continue
        if row["reached"] != REOPENED:
            _check_answer(questions[row["queue"]], row)
        copied = {name: row[name] for name in ("answer", "severity", "reached", "why", "at")}
        person_id = None if row["person"] is None else _id(people, row["person"], "person", row)
        last_vote = _id(votes, row["last_vote"], "vote", row)
        values = {"item_id": item_id, "person_id": person_id, "last_vote": last_vote, **copied}
        new_decisions.append((item_id, values))
        stored.add((item_id, row["reached"], row["at"]))
    _add_replacing(connection, decision, new_decisions, last)


def _reports(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    """Add reports; an open report that is cleared in the rows is cleared here too."""
    names = ("item_id", "person_id", "at")
    stored = {tuple(row[name] for name in names): row for row in connection.execute(select(report)).mappings()}
    for row in rows:
        key = _id(items, _item_key(row), "item", row), _id(people, row["person"], "person", row), row["at"]
        cleared_by = None if row["cleared_by"] is None else _id(people, row["cleared_by"], "person", row)
        cleared = {"cleared": row["cleared"], "cleared_by": cleared_by}
        if key not in stored:
            values = {**dict(zip(names, key, strict=True)), "text": row["text"], **cleared}
            added = insert(report).values(**values).returning(*report.c)
            stored[key] = connection.execute(added).mappings().one()
        elif stored[key]["cleared"] is None and row["cleared"] is not None:
            connection.execute(update(report).where(report.c.id == stored[key]["id"]).values(**cleared))


def _add_replacing(
    connection: Connection, table: Table, rows: Iterable[tuple[Any, dict[str, Any]]], last: dict[Any, int]
) -> None:
    """Add rows with their keys, in order; each replaces the last row with its key. Adds as many at once as possible."""
    added = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    waiting: dict[Any, dict[str, Any]] = {}

    def add() -> None:
        if waiting:
            row_ids = connection.execute(added, list(waiting.values())).scalars()
            last.update(zip(waiting, row_ids, strict=True))
            waiting.clear()

    for key, values in rows:
        if key in waiting:
            add()
        waiting[key] = {**values, "replaces": last.get(key)}
    add()


def _guide(connection: Connection, people: dict[str, int], rows: Iterable[Row]) -> None:
    copied = ("class_space", "class", "text", "traits", "examples", "alike", "why", "at")
    names = (*copied, "person_id")
    stored, last = set[tuple[Any, ...]](), dict[tuple[str, str], int]()
    for entry in connection.execute(select(guide_entry).order_by(guide_entry.c.id)).mappings():
        stored.add(tuple(entry[name] for name in names))
        last[entry["class_space"], entry["class"]] = entry["id"]
    for row in rows:
        values = {name: row[name] for name in copied} | {"person_id": _id(people, row["person"], "person", row)}
        if tuple(values[name] for name in names) in stored:
            continue
        stored.add(tuple(values[name] for name in names))
        class_key = row["class_space"], row["class"]
        added = insert(guide_entry).values(replaces=last.get(class_key), **values)
        last[class_key] = connection.execute(added.returning(guide_entry.c.id)).scalar_one()


def _worker_events(connection: Connection, people: dict[str, int], queues: dict[str, int], rows: Iterable[Row]) -> None:
    names = ("queue_id", "person_id", "event", "reason", "by_id", "at")
    stored = {tuple(row) for row in connection.execute(select(*(worker_event.c[name] for name in names)))}
    for row in rows:
        by_id = None if row["by"] is None else _id(people, row["by"], "person", row)
        of_worker = _id(queues, row["queue"], "queue", row), _id(people, row["person"], "person", row)
        values = *of_worker, row["event"], row["reason"], by_id, row["at"]
        if values not in stored:
            connection.execute(insert(worker_event).values(**dict(zip(names, values, strict=True))))
            stored.add(values)


def _proposals(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    names = ("item_id", "person_id", "visitor", "claim", "reason", "at")
    stored = {tuple(row) for row in connection.execute(select(*(proposal.c[name] for name in names)))}
    for row in rows:
        person_id = None if row["person"] is None else _id(people, row["person"], "person", row)
        item_id = _id(items, _item_key(row), "item", row)
        values = item_id, person_id, row["visitor"], row["claim"], row["reason"], row["at"]
        if values not in stored:
            connection.execute(insert(proposal).values(**dict(zip(names, values, strict=True))))
            stored.add(values)


def _count_missing(connection: Connection) -> None:
    """Update the number of missing votes of every item from its current votes."""
    counted = select(vote.c.item_id, func.count()).where(IS_CURRENT).group_by(vote.c.item_id)
    counts: dict[int, int] = dict(connection.execute(counted).all())
    connection.execute(update(item).values(missing=item.c.needed))
    for count in sorted(set(counts.values())):
        item_ids = [item_id for item_id, votes in counts.items() if votes == count]
        for begin in range(0, len(item_ids), 500):
            in_batch = item.c.id.in_(item_ids[begin : begin + 500])
            connection.execute(update(item).where(in_batch).values(missing=item.c.missing - count))


def _check_answer(question: Question, row: Row) -> None:
    """Raise if an answer is not valid for the question."""
    try:
        check_vote(question, VoteContent("", row["answer"], row["severity"]))
    except InputError as error:
        raise FormatError(f"row {row['row']}: {error}") from None


def _id(ids: dict[Any, int], name: Any, what: str, row: Row) -> int:
    if name not in ids:
        shown = " / ".join(part for part in name if part) if isinstance(name, tuple) else name
        raise FormatError(f"row {row['row']}: there is no {what} {shown!r}, neither in the rows nor in the ledger")
    return ids[name]


def _questions(connection: Connection) -> dict[str, Question]:
    return {name: question_named(value) for name, value in connection.execute(select(queue.c.name, queue.c.question))}


def _ids_by_name(connection: Connection, table: Table) -> dict[str, int]:
    return dict(connection.execute(select(table.c.name, table.c.id)).all())


def _item_ids(connection: Connection) -> dict[ItemKey, int]:
    items = select(queue.c.name, item.c.example, item.c["class"], item.c.id).join(queue, queue.c.id == item.c.queue_id)
    return {(name, example, class_id): item_id for name, example, class_id, item_id in connection.execute(items)}


def _item_key(row: Row) -> ItemKey:
    return row["queue"], row["example"], row["class"]
