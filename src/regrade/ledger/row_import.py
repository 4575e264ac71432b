"""Reading rows back into a ledger: what it has already is passed over, and nothing of its own is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from regrade.core import FormatError, InputError, MismatchError
from regrade.ledger.answers import check_ballot
from regrade.ledger.appending import append_items
from regrade.ledger.chain import link_rows_after
from regrade.ledger.current_votes import STANDS
from regrade.ledger.decisions import REOPENED
from regrade.ledger.names import check_name, check_not_alike
from regrade.ledger.records import NewItem, Question, VoteContent
from regrade.ledger.row_form import Row, in_form
from regrade.ledger.schema import (
    APPEND_ONLY,
    assignment,
    comment,
    decision,
    guide_entry,
    item,
    person,
    queue,
    report,
    vote,
)

ItemKey = tuple[str, str, str]
_VOTE = ("key", "item_id", "person_id", "answer", "severity")


def read_back(connection: Connection, rows: Iterable[Row]) -> int:
    """Add rows as `record_rows` gives them, and say how many votes were new.

    People and queues are known by their names, items by image and class, votes by their keys. A row that is not as it
    should be, or speaks of what neither the rows nor the ledger have, raises, and so does a queue that asks something
    else under the same name.
    """
    found = in_form(rows)
    if connection.dialect.name == "postgresql":
        # who adds items locks their queue first, and who votes an item
        connection.execute(select(queue.c.id).order_by(queue.c.id).with_for_update(key_share=True))
        connection.exec_driver_sql("LOCK TABLE item IN EXCLUSIVE MODE")
    people = _people(connection, found["person"])
    queues = _queues(connection, found["queue"])
    _assignments(connection, people, queues, found["assignment"])
    items = _items(connection, queues, found["item"])
    before = {table.name: _newest(connection, table) for table in APPEND_ONLY}
    new = _votes(connection, people, items, found["vote"])
    _comments(connection, people, items, found["comment"])
    _decisions(connection, people, items, found["decision"])
    _reports(connection, people, items, found["report"])
    _guide(connection, people, found["guide"])
    _count_missing(connection)
    for table in APPEND_ONLY:
        link_rows_after(connection, table, before[table.name])
    return new


def _newest(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.max(table.c.id))).scalar() or 0


def _people(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    known = _numbers(connection, person)
    fresh = {
        row["person"]: {"name": row["person"], "role": row["role"], "joined": row["at"]}
        for row in rows
        if row["person"] not in known
    }
    for name in fresh:
        _check_name("person", name)
    check_not_alike(fresh, known)
    if fresh:
        connection.execute(insert(person), list(fresh.values()))
    return _numbers(connection, person)


def _check_name(what: str, name: str) -> None:
    try:
        check_name(what, name)
    except InputError as error:
        raise FormatError(str(error)) from None


def _queues(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    asked = ("question", "test_set", "labels", "model", "mode")
    known = {row["name"]: dict(row) for row in connection.execute(select(queue)).mappings()}
    for row in rows:
        there = known.get(row["queue"])
        if there is None:
            _check_name("queue", row["queue"])
            known[row["queue"]] = values = {name: row[name] for name in (*asked, "overlap")}
            connection.execute(insert(queue).values(name=row["queue"], opened=row["at"], **values))
        elif any(there[name] != row[name] for name in asked):
            raise MismatchError(
                f"row {row['row']}: there is a queue {row['queue']!r} already, which asks something else"
            )
    return _numbers(connection, queue)


def _assignments(connection: Connection, people: dict[str, int], queues: dict[str, int], rows: Iterable[Row]) -> None:
    known = {tuple(row) for row in connection.execute(select(assignment.c.queue_id, assignment.c.person_id))}
    for row in rows:
        place = _known(queues, row["queue"], "queue", row), _known(people, row["person"], "person", row)
        if place not in known:
            connection.execute(insert(assignment).values(queue_id=place[0], person_id=place[1]))
            known.add(place)


def _items(connection: Connection, queues: dict[str, int], rows: Iterable[Row]) -> dict[ItemKey, int]:
    known = _item_numbers(connection)
    by_queue: dict[str, dict[ItemKey, NewItem]] = {}
    for row in rows:
        _known(queues, row["queue"], "queue", row)
        if _item_key(row) not in known:
            fresh = by_queue.setdefault(row["queue"], {})
            fresh[_item_key(row)] = NewItem(row["example"], row["class"], row["stratum"], needed=row["needed"])
    overlaps = dict(connection.execute(select(queue.c.name, queue.c.overlap)).all())
    for name, items in by_queue.items():
        append_items(connection, queues[name], list(items.values()), needed=overlaps[name])
    return _item_numbers(connection)


def _votes(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> int:
    known = {row.key: tuple(row) for row in connection.execute(select(*(vote.c[name] for name in _VOTE)))}
    questions = _questions(connection)
    last = dict(
        ((row.item_id, row.person_id), row.id)
        for row in connection.execute(select(vote.c.item_id, vote.c.person_id, vote.c.id).order_by(vote.c.id))
    )
    stored, fresh = set(known), []
    for row in rows:
        place = _known(items, _item_key(row), "item", row), _known(people, row["person"], "person", row)
        given = (row["key"], *place, row["answer"], row["severity"])
        if known.setdefault(row["key"], given) != given:
            raise MismatchError(f"row {row['row']}: vote {row['key']!r} is here already, with another answer or place")
        if row["key"] in stored:
            continue
        stored.add(row["key"])
        _check_answer(questions[row["queue"]], row)
        copied = {name: row[name] for name in ("key", "answer", "severity", "reason", "why", "seconds", "at")}
        fresh.append((place, {"item_id": place[0], "person_id": place[1], **copied}))
    _add_in_chains(connection, vote, fresh, last)
    return len(fresh)


def _comments(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    names = ("item_id", "person_id", "text", "at")
    known = {tuple(row) for row in connection.execute(select(*(comment.c[name] for name in names)))}
    for row in rows:
        by = _known(people, row["person"], "person", row)
        place = _known(items, _item_key(row), "item", row), by, row["text"], row["at"]
        if place not in known:
            connection.execute(insert(comment).values(**dict(zip(names, place, strict=True))))
            known.add(place)


def _decisions(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    keys = dict(connection.execute(select(vote.c.key, vote.c.id)).all())
    questions = _questions(connection)
    names = ("item_id", "reached", "at")
    known = {tuple(row) for row in connection.execute(select(*(decision.c[name] for name in names)))}
    last = {row.item_id: row.id for row in connection.execute(select(decision).order_by(decision.c.id))}
    fresh = []
    for row in rows:
        place = _known(items, _item_key(row), "item", row)
        if (place, row["reached"], row["at"]) in known:
            continue
        if row["reached"] != REOPENED:
            _check_answer(questions[row["queue"]], row)
        copied = {name: row[name] for name in ("answer", "severity", "reached", "why", "at")}
        by = None if row["person"] is None else _known(people, row["person"], "person", row)
        last_vote = _known(keys, row["last_vote"], "vote", row)
        fresh.append((place, {"item_id": place, "person_id": by, "last_vote": last_vote, **copied}))
        known.add((place, row["reached"], row["at"]))
    _add_in_chains(connection, decision, fresh, last)


def _reports(connection: Connection, people: dict[str, int], items: dict[ItemKey, int], rows: Iterable[Row]) -> None:
    """Add reports; one that is open here and was cleared elsewhere is cleared."""
    names = ("item_id", "person_id", "at")
    stored = {tuple(row[name] for name in names): row for row in connection.execute(select(report)).mappings()}
    for row in rows:
        key = _known(items, _item_key(row), "item", row), _known(people, row["person"], "person", row), row["at"]
        by = None if row["cleared_by"] is None else _known(people, row["cleared_by"], "person", row)
        cleared = {"cleared": row["cleared"], "cleared_by": by}
        if key not in stored:
            values = {**dict(zip(names, key, strict=True)), "text": row["text"], **cleared}
            added = insert(report).values(**values).returning(*report.c)
            stored[key] = connection.execute(added).mappings().one()
        elif stored[key]["cleared"] is None and row["cleared"] is not None:
            connection.execute(update(report).where(report.c.id == stored[key]["id"]).values(**cleared))


def _add_in_chains(
    connection: Connection, table: Table, rows: Iterable[tuple[Any, dict[str, Any]]], last: dict[Any, int]
) -> None:
    """Add rows in their order, each replacing the one before it at its place; as many at once as can be."""
    added = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    waiting: dict[Any, dict[str, Any]] = {}

    def add() -> None:
        if waiting:
            found = connection.execute(added, list(waiting.values())).scalars()
            last.update(zip(waiting, found, strict=True))
            waiting.clear()

    for place, values in rows:
        if place in waiting:
            add()
        waiting[place] = {**values, "replaces": last.get(place)}
    add()


def _guide(connection: Connection, people: dict[str, int], rows: Iterable[Row]) -> None:
    copied = ("class_space", "class", "text", "traits", "examples", "alike", "why", "at")
    names = (*copied, "person_id")
    known, last = set[tuple[Any, ...]](), dict[tuple[str, str], int]()
    for there in connection.execute(select(guide_entry).order_by(guide_entry.c.id)).mappings():
        known.add(tuple(there[name] for name in names))
        last[there["class_space"], there["class"]] = there["id"]
    for row in rows:
        values = {name: row[name] for name in copied} | {"person_id": _known(people, row["person"], "person", row)}
        if tuple(values[name] for name in names) in known:
            continue
        known.add(tuple(values[name] for name in names))
        place = row["class_space"], row["class"]
        added = insert(guide_entry).values(replaces=last.get(place), **values)
        last[place] = connection.execute(added.returning(guide_entry.c.id)).scalar_one()


def _count_missing(connection: Connection) -> None:
    """Bring every item's count of missing votes up to date with the votes that stand."""
    counted = select(vote.c.item_id, func.count()).where(STANDS).group_by(vote.c.item_id)
    counts: dict[int, int] = dict(connection.execute(counted).all())
    connection.execute(update(item).values(missing=item.c.needed))
    for count in sorted(set(counts.values())):
        numbers = [number for number, own in counts.items() if own == count]
        for begin in range(0, len(numbers), 500):
            some = item.c.id.in_(numbers[begin : begin + 500])
            connection.execute(update(item).where(some).values(missing=item.c.missing - count))


def _check_answer(question: Question, row: Row) -> None:
    """Raise where an answer is not one of the question's."""
    try:
        check_ballot(question, VoteContent("", row["answer"], row["severity"]))
    except InputError as error:
        raise FormatError(f"row {row['row']}: {error}") from None


def _known(numbers: dict[Any, int], name: Any, what: str, row: Row) -> int:
    if name not in numbers:
        told = " / ".join(part for part in name if part) if isinstance(name, tuple) else name
        raise FormatError(f"row {row['row']}: there is no {what} {told!r}, neither in the rows nor in the ledger")
    return numbers[name]


def _questions(connection: Connection) -> dict[str, Question]:
    return {name: Question(asked) for name, asked in connection.execute(select(queue.c.name, queue.c.question))}


def _numbers(connection: Connection, table: Table) -> dict[str, int]:
    return dict(connection.execute(select(table.c.name, table.c.id)).all())


def _item_numbers(connection: Connection) -> dict[ItemKey, int]:
    found = select(queue.c.name, item.c.example, item.c["class"], item.c.id).join(queue, queue.c.id == item.c.queue_id)
    return {(name, example, class_id): number for name, example, class_id, number in connection.execute(found)}


def _item_key(row: Row) -> ItemKey:
    return row["queue"], row["example"], row["class"]
