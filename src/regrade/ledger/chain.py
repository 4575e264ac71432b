"""The hash chain: every row of an append-only table has a link whose hash covers the hash of the previous link.

A link covers the row, the name of its person, the image and class of its item, and the question and test set of its
queue. Changing, removing or inserting any of these without the ledger, by bypassing the triggers, breaks the chain from
that link on. A chain that was truncated at its end is valid by itself; it is detected by links that were saved
elsewhere, as publishing does.
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
_FIRST = "0" * 64  # stands in for the previous hash of the first link
_LOCK = 0x72656772616465  # PostgreSQL advisory lock: one transaction at a time extends the chain
_TAKE_LOCK = select(func.pg_advisory_xact_lock(_LOCK))
_LAST = select(chain).order_by(chain.c.position.desc()).limit(1)
_LOCKED = f"SELECT pg_advisory_xact_lock({_LOCK})"
_LOCK_AND_LAST = f"{_LOCKED}; SELECT position, hash FROM chain ORDER BY position DESC LIMIT 1"
_INSERT = f"""
    INSERT INTO chain (position, kind, row_id, hash)
    SELECT position + 1, '{{kind}}', {{row_id}},
        encode(sha256(convert_to('["' || hash, 'UTF8') || decode('{{rest}}', 'hex')), 'hex')
    FROM (
        (SELECT position, hash FROM chain ORDER BY position DESC LIMIT 1) UNION ALL SELECT 0, '{_FIRST}'
    ) AS candidate
    ORDER BY position DESC LIMIT 1
"""  # computes the same as `_hash`; hex digits need no quoting
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
    "worker_event": ("id", "queue_id", "person_id", "event", "reason", "by_id", "at"),
    "proposal": ("id", "item_id", "person_id", "visitor", "claim", "reason", "at"),
}  # fmt: skip
"""The columns that a link covers; columns added to a table later do not change the hashes of existing links."""
_PERSON = person.c.name.label("person")
_ITEM = tuple(item.c[name].label(f"item {name}") for name in ("example", "class", "stratum"))
_QUEUE = tuple(
    queue.c[name].label(f"queue {name}") for name in ("name", "question", "test_set", "labels", "model", "mode")
)

SUBJECT = (_PERSON, *_ITEM, *_QUEUE)
"""The columns of the person, item and queue that a link covers."""


@dataclass(frozen=True)
class ChainLink:
    """A position in the chain and its hash, which covers everything up to it."""

    position: int
    hash: str


def _with_subject(table: Table) -> Select[Any]:
    """Select the rows of a table with all columns that their links cover."""
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
    """The last link of the chain; position 0 if it is empty."""
    row = connection.execute(_LAST).mappings().first()
    return ChainLink(0, _FIRST) if row is None else ChainLink(row["position"], row["hash"])


def has_link(connection: Connection, link: ChainLink) -> bool:
    """Whether the chain contains a link; the hash is compared, not recomputed."""
    stored = connection.execute(select(chain.c.hash).where(chain.c.position == link.position)).scalar()
    return (_FIRST if link.position == 0 else stored) == link.hash


def extend_chain(connection: Connection, table: Table, rows: Sequence[RowMapping]) -> None:
    """Link rows that were just added, in their order; blocks other writers until this transaction ends."""
    added = connection.execute(_ADDED[table.name], {"added": [row["id"] for row in rows]}).mappings().all()
    _extend(connection, table, added)


def extend_chain_and_commit(
    connection: Connection, rows: Sequence[tuple[Table, RowMapping]], subject: RowMapping
) -> None:
    """Link rows that were just added and commit: nothing else may be written in this transaction.

    ``subject`` holds the columns in `SUBJECT`, which saves a query. PostgreSQL gets everything in one message and
    computes the hashes itself, so that other writers wait for the disk only, not for this process. SQLite, which has a
    single writer, commits at the end of the transaction.
    """
    covered = [(table.name, _covered(table, row, subject)) for table, row in rows]
    if connection.dialect.name == "postgresql":
        inserts = [
            _INSERT.format(kind=kind, row_id=int(row["id"]), rest=_text(kind, row).encode().hex())
            for kind, row in covered
        ]
        connection.exec_driver_sql("; ".join([_LOCKED, *inserts, "COMMIT"]))
    else:
        connection.execute(_ADD, list(_links(last_link(connection), covered)))


def _covered(table: Table, row: RowMapping, subject: RowMapping) -> dict[str, Any]:
    """The columns of a row that its link covers; a decision that no person made has no person."""
    covered = {name: row[name] for name in _COLUMNS[table.name]}
    covered |= {column.name: subject[column.name] for column in SUBJECT}
    return covered if row["person_id"] is not None else covered | {_PERSON.name: None}


def link_rows_after(connection: Connection, table: Table, newest: int) -> None:
    """Link the rows of a table with ids larger than ``newest`` that have no link yet."""
    _lock(connection)  # waits for concurrent writers, which link their own rows
    linked = exists(select(chain.c.position).where(chain.c.kind == table.name, chain.c.row_id == table.c.id))
    rows = connection.execute(_ROWS[table.name].where(table.c.id > newest, ~linked).order_by(table.c.id))
    _extend(connection, table, rows.mappings().all())


def link_everything(connection: Connection) -> None:
    """Link all rows of a ledger that has no chain yet, in the order of their timestamps."""
    order = ["vote", "comment", "decision", "guide_entry"]  # the tables of a ledger that has no chain yet
    rows = sorted(_rows(connection, order), key=lambda pair: (pair[1]["at"], order.index(pair[0]), pair[1]["id"]))
    links = list(_links(ChainLink(0, _FIRST), rows))
    if links:
        connection.execute(_ADD, links)


def chain_problems(connection: Connection, noted: Iterable[ChainLink] = ()) -> Iterator[str]:
    """Describe the first invalid link, rows without a link, and ``noted`` links that are missing or changed."""
    rows = {(kind, row["id"]): row for kind, row in _rows(connection, _ROWS)}
    hashes = {0: _FIRST}
    for position, link in enumerate(connection.execute(select(chain).order_by(chain.c.position)).mappings(), 1):
        problem = _link_problem(position, link, rows.pop((link["kind"], link["row_id"]), None), hashes[position - 1])
        if problem:
            yield f"link {link['position']}, {link['kind']} {link['row_id']}: {problem}"
            return
        hashes[position] = link["hash"]
    if rows:
        kind, row_id = next(iter(rows))
        yield f"{len(rows):,} rows have no link, for instance {kind} {row_id}: they were added by bypassing the ledger"
    for note in noted:
        if hashes.get(note.position) != note.hash:
            yield f"link {note.position}, which was noted when a queue was published, was removed or changed"


def _link_problem(position: int, link: RowMapping, row: RowMapping | None, before: str) -> str:
    """What is wrong with the link that should be at a position; empty if nothing is."""
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
    """Lock the chain until this transaction ends and return its last link.

    PostgreSQL gets both statements in one message. The second sees what was committed while the first one waited.
    """
    if connection.dialect.name != "postgresql":  # SQLite has a single writer
        return last_link(connection)
    cursor = connection.exec_driver_sql(_LOCK_AND_LAST).cursor
    row = cursor.fetchone() if cursor is not None and cursor.nextset() else None
    return ChainLink(0, _FIRST) if row is None else ChainLink(*row)


def _lock(connection: Connection) -> None:
    """Lock the chain until this transaction ends; SQLite has a single writer and needs no lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(_TAKE_LOCK)


def _links(last: ChainLink, rows: Iterable[tuple[str, _Row]]) -> Iterator[dict[str, Any]]:
    """The links for rows that follow the last link."""
    before = last.hash
    for position, (kind, row) in enumerate(rows, last.position + 1):
        before = _hash(before, kind, row)
        yield {"position": position, "kind": kind, "row_id": row["id"], "hash": before}


def _rows(connection: Connection, kinds: Iterable[str]) -> Iterator[tuple[str, RowMapping]]:
    for kind in kinds:
        for row in connection.execute(_ROWS[kind]).mappings():
            yield kind, row


def _hash(before: str, kind: str, row: _Row) -> str:
    return hashlib.sha256(f'["{before}{_text(kind, row)}'.encode()).hexdigest()


def _text(kind: str, row: _Row) -> str:
    """What follows the previous hash in the JSON list of it, the kind and the row."""
    content = {name: _as_json(value) for name, value in row.items()}
    return f'", {json.dumps([kind, content], sort_keys=True)[1:]}'


def _as_json(value: Any) -> Any:
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value
