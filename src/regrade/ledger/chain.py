"""The hash chain: every row that people added has a link whose hash covers that of the link before it.

A link covers the row, the name of its person, and what it is about: the item's image and class, and what its queue asks
of which test set. Whoever changes, removes or inserts any of that without the help of the ledger, past the triggers,
breaks the chain from there on. A chain that was cut off at its end looks whole by itself: links that are noted
elsewhere, as publishing does, tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Table, bindparam, exists, func, insert, select

from regrade.ledger.schema import APPEND_ONLY, chain, item, person, queue

_Row = RowMapping | dict[str, Any]
_FIRST = "0" * 64  # what the first link has in place of the hash before it
_LOCK = 0x72656772616465  # of PostgreSQL's advisory locks: the chain grows by one transaction at a time
_TAKE_LOCK = select(func.pg_advisory_xact_lock(_LOCK))
_LAST = select(chain).order_by(chain.c.position.desc()).limit(1)
_LOCK_AND_LAST = (
    f"SELECT pg_advisory_xact_lock({_LOCK}); SELECT position, hash FROM chain ORDER BY position DESC LIMIT 1"
)
_ADD = insert(chain)
_COLUMNS = {
    "vote": (
        "id", "key", "item_id", "person_id", "replaces", "answer", "severity", "reason", "why", "seconds", "at"
    ),
    "comment": ("id", "item_id", "person_id", "text", "at"),
    "decision": (
        "id", "item_id", "replaces", "answer", "severity", "reached", "person_id", "why", "last_vote", "at"
    ),
    "guide_entry": (
        "id", "class_space", "class", "replaces", "text", "traits", "examples", "alike", "person_id", "why", "at"
    ),
}  # fmt: skip
"""What a link covers of a row: columns that come later do not change the hashes of earlier links."""
_PERSON = person.c.name.label("person")
_ITEM = tuple(item.c[name].label(f"item {name}") for name in ("example", "class", "stratum"))
_QUEUE = tuple(
    queue.c[name].label(f"queue {name}") for name in ("name", "question", "test_set", "labels", "model", "mode")
)

SUBJECT = (_PERSON, *_ITEM, *_QUEUE)
"""What a link covers of the person, the item and the queue that a row is about."""


@dataclass(frozen=True)
class ChainLink:
    """A position in the chain and its hash, which stands for everything up to it."""

    position: int
    hash: str


def _with_subject(table: Table) -> Select[Any]:
    """The rows of a table with all that their links cover."""
    columns = [*(table.c[name] for name in _COLUMNS[table.name]), _PERSON]
    source = table.outerjoin(person, person.c.id == table.c.person_id)
    if "item_id" in table.c:
        source = source.outerjoin(item, item.c.id == table.c.item_id).outerjoin(queue, queue.c.id == item.c.queue_id)
        columns += [*_ITEM, *_QUEUE]
    return select(*columns).select_from(source)


_ROWS = {table.name: _with_subject(table) for table in APPEND_ONLY}
_ADDED = {
    table.name: _ROWS[table.name].where(table.c.id.in_(bindparam("added", expanding=True))).order_by(table.c.id)
    for table in APPEND_ONLY
}


def last_link(connection: Connection) -> ChainLink:
    """The last link of the chain; position 0 where it is empty."""
    row = connection.execute(_LAST).mappings().first()
    return ChainLink(0, _FIRST) if row is None else ChainLink(row["position"], row["hash"])


def has_link(connection: Connection, link: ChainLink) -> bool:
    """Whether a link is in the chain as it was noted; what it covers is not recomputed."""
    stored = connection.execute(select(chain.c.hash).where(chain.c.position == link.position)).scalar()
    return (_FIRST if link.position == 0 else stored) == link.hash


def extend_chain(connection: Connection, table: Table, rows: Sequence[RowMapping]) -> None:
    """Link rows that were just added, in their order; others who add rows wait until this transaction ends."""
    added = connection.execute(_ADDED[table.name], {"added": [row["id"] for row in rows]}).mappings().all()
    _extend(connection, table, added)


def extend_chain_by(connection: Connection, table: Table, row: RowMapping, subject: RowMapping) -> None:
    """Link a row that was just added, by someone and about an item that are at hand: ``subject`` has all of `SUBJECT`.

    It saves the statement that reads them.
    """
    covered = {name: row[name] for name in _COLUMNS[table.name]}
    covered |= {column.name: subject[column.name] for column in SUBJECT}
    _extend(connection, table, [covered])


def link_rows_after(connection: Connection, table: Table, newest: int) -> None:
    """Link the rows of a table whose numbers are larger than one, as far as they have no link yet."""
    _lock(connection)  # whoever adds a row at the same time has linked it by then
    linked = exists(select(chain.c.position).where(chain.c.kind == table.name, chain.c.row_id == table.c.id))
    rows = connection.execute(_ROWS[table.name].where(table.c.id > newest, ~linked).order_by(table.c.id))
    _extend(connection, table, rows.mappings().all())


def link_everything(connection: Connection) -> None:
    """Link all rows of a ledger that has no chain yet, by the time at which they were added."""
    order = list(_COLUMNS)
    rows = sorted(_rows(connection), key=lambda pair: (pair[1]["at"], order.index(pair[0]), pair[1]["id"]))
    links = list(_links(ChainLink(0, _FIRST), rows))
    if links:
        connection.execute(_ADD, links)


def chain_problems(connection: Connection, noted: Iterable[ChainLink] = ()) -> Iterator[str]:
    """What is wrong with the chain: the first link that does not fit, rows without a link, noted links that changed."""
    rows = {(kind, row["id"]): row for kind, row in _rows(connection)}
    hashes = {0: _FIRST}
    for position, link in enumerate(connection.execute(select(chain).order_by(chain.c.position)).mappings(), 1):
        trouble = _trouble(position, link, rows.pop((link["kind"], link["row_id"]), None), hashes[position - 1])
        if trouble:
            yield f"link {link['position']}, {link['kind']} {link['row_id']}: {trouble}"
            return
        hashes[position] = link["hash"]
    if rows:
        kind, number = next(iter(rows))
        yield f"{len(rows):,} rows have no link, for instance {kind} {number}: they were added past the ledger"
    for note in noted:
        if hashes.get(note.position) != note.hash:
            yield f"link {note.position}, which was noted when a queue was published, was removed or changed"


def _trouble(position: int, link: RowMapping, row: RowMapping | None, before: str) -> str:
    """What is wrong with a link that should be at a position, if anything is."""
    if link["position"] != position:
        return f"link {position} before it was removed"
    if row is None:
        return "its row was removed"
    if _hash(before, link["kind"], row) != link["hash"]:
        return "its row, the name of its person, or the item or queue that it is about was changed after it was added"
    return ""


def _extend(connection: Connection, table: Table, rows: Sequence[_Row]) -> None:
    links = list(_links(_locked_last_link(connection), ((table.name, row) for row in rows)))
    if links:
        connection.execute(_ADD, links)


def _locked_last_link(connection: Connection) -> ChainLink:
    """The last link, which stays the last until this transaction ends, unless it is extended here.

    PostgreSQL is sent both statements in one message. The second sees what was committed while the first one waited.
    """
    if connection.dialect.name != "postgresql":  # in SQLite no one else writes anyway
        return last_link(connection)
    cursor = connection.exec_driver_sql(_LOCK_AND_LAST).cursor
    row = cursor.fetchone() if cursor is not None and cursor.nextset() else None
    return ChainLink(0, _FIRST) if row is None else ChainLink(*row)


def _lock(connection: Connection) -> None:
    """Let no one else extend the chain until this transaction ends; in SQLite no one else writes anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(_TAKE_LOCK)


def _links(last: ChainLink, rows: Iterable[tuple[str, _Row]]) -> Iterator[dict[str, Any]]:
    """The links of rows that follow the last one."""
    before = last.hash
    for position, (kind, row) in enumerate(rows, last.position + 1):
        before = _hash(before, kind, row)
        yield {"position": position, "kind": kind, "row_id": row["id"], "hash": before}


def _rows(connection: Connection) -> Iterator[tuple[str, RowMapping]]:
    for kind, rows in _ROWS.items():
        for row in connection.execute(rows).mappings():
            yield kind, row


def _hash(before: str, kind: str, row: _Row) -> str:
    content = {name: _plain(value) for name, value in row.items()}
    return hashlib.sha256(json.dumps([before, kind, content], sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value
