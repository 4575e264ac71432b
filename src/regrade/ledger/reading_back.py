"""Reading rows back into a ledger: what it has already is passed over, and nothing of its own is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from regrade.core import FormatError, MismatchError
from regrade.ledger.record_rows import KINDS
from regrade.ledger.schema import block, comment, decision, item, person, queue, vote
from regrade.ledger.standing import STANDS

Row = Mapping[str, Any]


def read_back(connection: Connection, rows: Iterable[Row]) -> int:
    """Add rows as `record_rows` gives them, and say how many votes were new.

    People and queues are known by their names, items by image and class, votes by their keys. A queue that asks
    something else under the same name raises.
    """
    sorted_rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for row in rows:
        if row.get("kind") not in sorted_rows:
            raise FormatError(f"a row of a ledger is a {', '.join(KINDS)}, not a {row.get('kind')!r}")
        sorted_rows[row["kind"]].append(row)
    people = _people(connection, sorted_rows["person"])
    queues = _queues(connection, sorted_rows["queue"])
    items = _items(connection, queues, sorted_rows["item"])
    new = _votes(connection, people, items, sorted_rows["vote"])
    keys = dict(connection.execute(select(vote.c.key, vote.c.id)).all())
    _comments(connection, people, items, sorted_rows["comment"])
    _decisions(connection, people, items, keys, sorted_rows["decision"])
    _count_missing(connection)
    return new


def _people(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    known = _numbers(connection, person)
    fresh = [
        {"name": row["person"], "role": row["role"], "joined": row["at"]} for row in rows if row["person"] not in known
    ]
    if fresh:
        connection.execute(insert(person), fresh)
    return _numbers(connection, person)


def _queues(connection: Connection, rows: Iterable[Row]) -> dict[str, int]:
    asked = ("question", "test_set", "labels", "overlap")
    known = {row["name"]: row for row in connection.execute(select(queue)).mappings()}
    for row in rows:
        there = known.get(row["queue"])
        if there is None:
            values = {name: row[name] for name in asked}
            connection.execute(insert(queue).values(name=row["queue"], opened=row["at"], **values))
        elif any(there[name] != row[name] for name in asked):
            raise MismatchError(f"there is a queue {row['queue']!r} already, which asks something else")
    return _numbers(connection, queue)


def _items(connection: Connection, queues: dict[str, int], rows: Iterable[Row]) -> dict[tuple[str, str, str], int]:
    known = _item_numbers(connection)
    by_queue: dict[str, list[Row]] = {}
    for row in rows:
        if _item_key(row) not in known:
            by_queue.setdefault(row["queue"], []).append(row)
    for name, fresh in by_queue.items():
        start = connection.execute(select(func.count()).where(item.c.queue_id == queues[name])).scalar_one()
        connection.execute(
            insert(item),
            [
                {
                    "queue_id": queues[name],
                    "place": start + number,
                    "example": row["example"],
                    "class": row["class"],
                    "stratum": row["stratum"],
                    "missing": 0,
                }
                for number, row in enumerate(fresh)
            ],
        )
        connection.execute(insert(block).values(queue_id=queues[name], start=start, size=len(fresh)))
    return _item_numbers(connection)


def _votes(connection: Connection, people: dict[str, int], items: dict[Any, int], rows: Iterable[Row]) -> int:
    known = set(connection.execute(select(vote.c.key)).scalars())
    last = dict(
        ((row.item_id, row.person_id), row.id)
        for row in connection.execute(select(vote.c.item_id, vote.c.person_id, vote.c.id).order_by(vote.c.id))
    )
    new = 0
    for row in rows:
        if row["key"] in known:
            continue
        place = items[_item_key(row)], people[row["person"]]
        copied = {name: row[name] for name in ("key", "answer", "severity", "reason", "why", "seconds", "at")}
        added = insert(vote).values(item_id=place[0], person_id=place[1], replaces=last.get(place), **copied)
        last[place] = connection.execute(added.returning(vote.c.id)).scalar_one()
        new += 1
    return new


def _comments(connection: Connection, people: dict[str, int], items: dict[Any, int], rows: Iterable[Row]) -> None:
    known = set(connection.execute(select(comment.c.item_id, comment.c.person_id, comment.c.text, comment.c.at)))
    for row in rows:
        place = items[_item_key(row)], people[row["person"]], row["text"], row["at"]
        if place not in known:
            values = dict(zip(("item_id", "person_id", "text", "at"), place, strict=True))
            connection.execute(insert(comment).values(**values))


def _decisions(
    connection: Connection, people: dict[str, int], items: dict[Any, int], keys: dict[str, int], rows: Iterable[Row]
) -> None:
    known = set(connection.execute(select(decision.c.item_id, decision.c.reached, decision.c.at)))
    last = {row.item_id: row.id for row in connection.execute(select(decision).order_by(decision.c.id))}
    for row in rows:
        place = items[_item_key(row)]
        if (place, row["reached"], row["at"]) in known:
            continue
        copied = {name: row[name] for name in ("answer", "severity", "reached", "why", "at")}
        by = None if row["person"] is None else people[row["person"]]
        added = insert(decision).values(
            item_id=place, person_id=by, replaces=last.get(place), last_vote=keys[row["last_vote"]], **copied
        )
        last[place] = connection.execute(added.returning(decision.c.id)).scalar_one()


def _count_missing(connection: Connection) -> None:
    """Bring every item's count of missing votes up to date with the votes that stand."""
    counted = select(vote.c.item_id, func.count()).where(STANDS).group_by(vote.c.item_id)
    counts: dict[int, int] = dict(connection.execute(counted).all())
    overlap = select(queue.c.overlap).where(queue.c.id == item.c.queue_id).scalar_subquery()
    connection.execute(update(item).values(missing=overlap))
    for count in sorted(set(counts.values())):
        numbers = [number for number, own in counts.items() if own == count]
        for begin in range(0, len(numbers), 500):
            some = item.c.id.in_(numbers[begin : begin + 500])
            connection.execute(update(item).where(some).values(missing=item.c.missing - count))


def _numbers(connection: Connection, table: Table) -> dict[str, int]:
    return dict(connection.execute(select(table.c.name, table.c.id)).all())


def _item_numbers(connection: Connection) -> dict[tuple[str, str, str], int]:
    found = select(queue.c.name, item.c.example, item.c["class"], item.c.id).join(queue, queue.c.id == item.c.queue_id)
    return {(name, example, class_id): number for name, example, class_id, number in connection.execute(found)}


def _item_key(row: Row) -> tuple[str, str, str]:
    return row["queue"], row["example"], row["class"]
