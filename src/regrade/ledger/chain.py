"""The hash chain: every row that people added has a link whose hash covers that of the link before it.

Whoever changes, removes or inserts a row without the help of the ledger, past the triggers, breaks the chain from there
on. A chain that was cut off at its end looks whole by itself: links that are noted elsewhere, as publishing does, tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, exists, func, insert, select

from regrade.ledger.schema import APPEND_ONLY, chain

_FIRST = "0" * 64  # what the first link has in place of the hash before it
_LOCK = 0x72656772616465  # of PostgreSQL's advisory locks: the chain grows by one transaction at a time
_TAKE_LOCK = select(func.pg_advisory_xact_lock(_LOCK))
_LAST = select(chain).order_by(chain.c.position.desc()).limit(1)
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
"""What a link covers: columns that come later do not change the hashes of earlier links."""


@dataclass(frozen=True)
class ChainLink:
    """A position in the chain and its hash, which stands for everything up to it."""

    position: int
    hash: str


def last_link(connection: Connection) -> ChainLink:
    """The last link of the chain; position 0 where it is empty."""
    row = connection.execute(_LAST).mappings().first()
    return ChainLink(0, _FIRST) if row is None else ChainLink(row["position"], row["hash"])


def extend_chain(connection: Connection, table: Table, rows: Sequence[RowMapping]) -> None:
    """Link rows that were just added, in their order; others who add rows wait until this transaction ends."""
    _lock(connection)
    links = list(_links(last_link(connection), ((table.name, row) for row in rows)))
    if links:
        connection.execute(_ADD, links)


def link_rows_after(connection: Connection, table: Table, newest: int) -> None:
    """Link the rows of a table whose numbers are larger than one, as far as they have no link yet."""
    _lock(connection)  # whoever adds a row at the same time has linked it by then
    linked = exists(select(chain.c.position).where(chain.c.kind == table.name, chain.c.row_id == table.c.id))
    rows = connection.execute(select(table).where(table.c.id > newest, ~linked).order_by(table.c.id))
    extend_chain(connection, table, rows.mappings().all())


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
    return "" if _hash(before, link["kind"], row) == link["hash"] else "its row was changed after it was added"


def _lock(connection: Connection) -> None:
    """Let no one else extend the chain until this transaction ends; in SQLite no one else writes anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(_TAKE_LOCK)


def _links(last: ChainLink, rows: Iterable[tuple[str, RowMapping]]) -> Iterator[dict[str, Any]]:
    """The links of rows that follow the last one."""
    before = last.hash
    for position, (kind, row) in enumerate(rows, last.position + 1):
        before = _hash(before, kind, row)
        yield {"position": position, "kind": kind, "row_id": row["id"], "hash": before}


def _rows(connection: Connection) -> Iterator[tuple[str, RowMapping]]:
    for table in APPEND_ONLY:
        columns = (table.c[name] for name in _COLUMNS[table.name])
        for row in connection.execute(select(*columns)).mappings():
            yield table.name, row


def _hash(before: str, kind: str, row: RowMapping) -> str:
    content = {name: _plain(name, row[name]) for name in _COLUMNS[kind]}
    return hashlib.sha256(json.dumps([before, kind, content], sort_keys=True).encode()).hexdigest()


def _plain(name: str, value: Any) -> Any:
    """A value as every database gives it back, also when it has just been added."""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return float(value) if name == "seconds" and value is not None else value  # SQLite returns 2.0 as 2 at first
