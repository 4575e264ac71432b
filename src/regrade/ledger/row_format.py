"""The format of a ledger's rows: the columns of each kind, the export with names instead of ids, and validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from sqlalchemy import Column, Connection, FromClause, Select, Table, select

from regrade.core import FormatError, UnknownName
from regrade.core.panel import Claim, Mode, Reached, Role, WorkerEvent
from regrade.ledger.column_types import (
    EnumColumn,
    FloatColumn,
    IntegerColumn,
    QuestionColumn,
    TextColumn,
    TimestampColumn,
)
from regrade.ledger.decisions import REOPENED
from regrade.ledger.questions import QUESTIONS, question_named
from regrade.ledger.records import Purpose
from regrade.ledger.schema import (
    assignment,
    comment,
    decision,
    guide_entry,
    is_valid_text,
    item,
    person,
    proposal,
    queue,
    report,
    vote,
    worker_event,
)

Row = Mapping[str, Any]

KINDS = (
    "person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide", "worker_event",
    "proposal",
)  # fmt: skip
"""The kinds of rows, in the order of import. Accounts, invitations and secrets are never exported."""

_PERSON, _QUEUE = {"person": person.c.name}, {"queue": queue.c.name}
_ITEM = {**_QUEUE, "example": item.c.example, "class": item.c["class"]}


def _own(table: Any, *names: str) -> dict[str, Column[Any]]:
    return {name: table.c[name] for name in names}


COLUMNS: dict[str, dict[str, Column[Any]]] = {
    "person": {**_PERSON, **_own(person, "role"), "at": person.c.joined},
    "queue": {
        **_QUEUE, **_own(queue, "question", "test_set", "labels", "overlap", "model", "mode", "purpose", "build"),
        "at": queue.c.opened,
    },
    "assignment": {**_QUEUE, **_PERSON},
    "item": {**_ITEM, **_own(item, "stratum", "needed")},
    "vote": {**_ITEM, **_PERSON, **_own(vote, "key", "answer", "severity", "reason", "why", "seconds", "at")},
    "comment": {**_ITEM, **_PERSON, **_own(comment, "text", "at")},
    "decision": {
        **_ITEM, **_PERSON, **_own(decision, "answer", "severity", "reached", "why"), "last_vote": vote.c.key,
        **_own(decision, "at"),
    },
    "report": {**_ITEM, **_PERSON, **_own(report, "text", "at", "cleared"), "cleared_by": person.c.name},
    "guide": {
        **_own(guide_entry, "class_space", "class"), **_PERSON,
        **_own(guide_entry, "text", "traits", "examples", "alike", "why", "at"),
    },
    "worker_event": {
        **_QUEUE, **_PERSON, **_own(worker_event, "event", "reason"), "by": person.c.name, **_own(worker_event, "at"),
    },
    "proposal": {**_ITEM, **_PERSON, **_own(proposal, "visitor", "claim", "reason", "at")},
}  # fmt: skip
"""The columns of each kind of row, with the database column that each comes from."""

_CLEARED_BY = person.alias("clearer")
_LOOKED_UP: dict[tuple[str, str], Select[Any]] = {
    ("decision", "last_vote"): select(vote.c.key).where(vote.c.id == decision.c.last_vote),
    ("report", "cleared_by"): select(_CLEARED_BY.c.name).where(_CLEARED_BY.c.id == report.c.cleared_by),
    ("worker_event", "by"): select(_CLEARED_BY.c.name).where(_CLEARED_BY.c.id == worker_event.c.by_id),
}  # columns that refer to another row than the item and the person of their own


def exported_rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """All rows that are exported, oldest first of each kind: people, queues, items, votes, worker events, and so on.

    Each row has a ``kind``.
    """
    for kind in KINDS:
        for row in connection.execute(_EXPORTS[kind]).mappings():
            yield {"kind": kind, **row}


def _export(kind: str, source: FromClause, *order: Column[Any]) -> Select[Any]:
    columns = [
        _LOOKED_UP[kind, name].scalar_subquery().label(name) if (kind, name) in _LOOKED_UP else column.label(name)
        for name, column in COLUMNS[kind].items()
    ]
    return select(*columns).select_from(source).order_by(*order)


def _on_items(table: Table) -> FromClause:
    rows = table.join(item, item.c.id == table.c.item_id).join(queue, queue.c.id == item.c.queue_id)
    return rows.outerjoin(person, person.c.id == table.c.person_id)


_ASSIGNMENTS = assignment.join(queue, queue.c.id == assignment.c.queue_id).join(
    person, person.c.id == assignment.c.person_id
)
_WORKER_EVENTS = worker_event.join(queue, queue.c.id == worker_event.c.queue_id).join(
    person, person.c.id == worker_event.c.person_id
)
_EXPORTS = {
    "person": _export("person", person, person.c.id),
    "queue": _export("queue", queue, queue.c.id),
    "assignment": _export("assignment", _ASSIGNMENTS, assignment.c.queue_id, assignment.c.person_id),
    "item": _export("item", item.join(queue, queue.c.id == item.c.queue_id), item.c.queue_id, item.c.place),
    **{
        table.name: _export(table.name, _on_items(table), table.c.id)
        for table in (vote, comment, decision, report, proposal)
    },
    "guide": _export("guide", guide_entry.join(person, person.c.id == guide_entry.c.person_id), guide_entry.c.id),
    "worker_event": _export("worker_event", _WORKER_EVENTS, worker_event.c.id),
}

_MISSING = {
    ("decision", "person"),  # missing for decisions by unanimous votes
    ("proposal", "person"),  # missing for visitors
    ("report", "cleared_by"),  # missing for open reports
    ("item", "needed"),
    ("worker_event", "by"),  # missing for events that the gate caused
}
_LEAST = {"overlap": 1, "needed": 0}  # a task of a build that was answered elsewhere needs no votes
_ADDED_LATER = {("item", "needed"), ("queue", "purpose"), ("queue", "build")}  # missing in files of an older regrade
_MAY_BE_EMPTY = {"class", "labels", "model", "build", "reason", "why", "text", "traits", "examples", "alike", "visitor"}
_VALID_VALUES: dict[str, list[str]] = {
    "role": [role.value for role in Role],
    "mode": [mode.value for mode in Mode],
    "purpose": [purpose.value for purpose in Purpose],
    "event": [event.value for event in WorkerEvent],
    "claim": [claim.value for claim in Claim],
    "reached": [*(reached.value for reached in Reached), REOPENED],
}
_LARGEST = 2**31 - 1  # the largest integer in PostgreSQL
_LONGEST = 366 * 24 * 3600.0  # maximum seconds per answer; more is implausible
_EARLIEST = 1970
_IDENTITY = {"person": ("person",), "item": ("queue", "example", "class"), "vote": ("key",)}
"""The columns that identify a row of a kind; two rows of one file with the same values must agree in all others."""


def validated_rows(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by kind, with parsed values and the row number, from 1, as ``row``.

    Raises for missing or unknown columns, invalid values, and rows that contradict each other.
    """
    by_kind: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for number, row in enumerate(rows, start=1):
        kind = row.get("kind")
        if not isinstance(kind, str) or kind not in by_kind:
            raise FormatError(f"row {number}: the kind must be one of {', '.join(KINDS)}, not {brief(kind)}")
        try:
            _check_names(kind, row)
            values = {name: _value(kind, name, column, row.get(name)) for name, column in COLUMNS[kind].items()}
        except ValueError as error:
            raise FormatError(f"row {number}, a {kind}: {error}") from None
        by_kind[kind].append({"row": number, **values})
    for kind, names in _IDENTITY.items():
        _check_contradictions(by_kind[kind], names)
    return by_kind


def _check_names(kind: str, row: Row) -> None:
    """Raise if a row lacks a column of its kind, or has a value in an unknown column, which would be lost."""
    for name, value in row.items():
        if value is not None and name != "kind" and name not in COLUMNS[kind]:
            raise UnknownName("column", str(name), COLUMNS[kind])
    for name in COLUMNS[kind]:
        if name not in row and (kind, name) not in _ADDED_LATER:
            raise ValueError(f"{name} is missing")


def _check_contradictions(rows: Iterable[Row], names: tuple[str, ...]) -> None:
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        before = first.setdefault(tuple(row[name] for name in names), row)
        if differs := [name for name in row if name != "row" and row[name] != before[name]]:
            raise FormatError(
                f"row {row['row']} has another {differs[0]} than row {before['row']}, which has the same "
                f"{', '.join(names)}"
            )


def _value(kind: str, name: str, column: Column[Any], value: Any) -> Any:
    if value is None:
        if column.nullable or (kind, name) in _MISSING:
            return None
        if name not in _MAY_BE_EMPTY:
            raise ValueError(f"{name} is missing")
        value = ""
    read = next(reader for type_, reader in _READERS.items() if isinstance(column.type, type_))
    parsed = read(name, value)
    if isinstance(parsed, str):
        _check_text(name, column, parsed)
    if name in _LEAST and parsed < _LEAST[name]:
        raise ValueError(f"an item needs at least one vote, got {name} {parsed}")
    return parsed


def _check_text(name: str, column: Column[Any], text: str) -> None:
    length = getattr(column.type, "length", None)
    if length is not None and len(text) > length:
        raise ValueError(f"{name} has {len(text)} characters, more than the maximum of {length}")
    if not text and name not in _MAY_BE_EMPTY and name != "answer":
        raise ValueError(f"{name} is empty")
    if not is_valid_text(text):
        raise ValueError(f"{name} contains an invalid character (NUL or an unpaired surrogate)")
    if name in _VALID_VALUES and text not in _VALID_VALUES[name]:
        raise ValueError(f"{name} must be one of {', '.join(_VALID_VALUES[name])}, not {text!r}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {brief(value)}")
    return value


def _question(name: str, value: Any) -> str:
    try:
        return question_named(_text(name, value)).name
    except UnknownName:
        raise ValueError(f"{name} must be one of {', '.join(QUESTIONS)}, not {value!r}") from None


def _integer(name: str, value: Any) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) > _LARGEST:
        raise ValueError(f"{name} must be an integer of at most {_LARGEST}, not {brief(value)}")
    return number


def _seconds(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not 0 <= number <= _LONGEST:
        raise ValueError(f"{name} must be a number of seconds between 0 and one year, not {brief(value)}")
    return number


def _timestamp(name: str, value: Any) -> datetime:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, datetime) or parsed.tzinfo is None:
        raise ValueError(f"{name} must be a time with a time zone (2026-01-31T12:00:00Z), not {brief(value)}")
    if not _EARLIEST < parsed.year < datetime.max.year:  # leaves room for the conversion to UTC
        raise ValueError(f"{name} is in the year {parsed.year}, which is not plausible")
    return parsed.astimezone(UTC)


_READERS: dict[type[Any], Callable[[str, Any], Any]] = {
    TimestampColumn: _timestamp,
    IntegerColumn: _integer,
    FloatColumn: _seconds,
    EnumColumn: _text,
    QuestionColumn: _question,
    TextColumn: _text,
}


def all_columns() -> dict[str, Column[Any]]:
    """Every column of any kind of row, by name."""
    return {name: column for kind in KINDS for name, column in COLUMNS[kind].items()}
