"""The form of a ledger's rows: what every kind of row holds, and rows held against it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from sqlalchemy import Column

from regrade.core import FormatError, UnknownName
from regrade.core.panel import Reached
from regrade.ledger.decisions import REOPENED
from regrade.ledger.record_rows import KINDS
from regrade.ledger.records import Mode, Question, Role
from regrade.ledger.schema import (
    EnumColumn,
    FloatColumn,
    IntegerColumn,
    TextColumn,
    TimestampColumn,
    comment,
    decision,
    guide_entry,
    item,
    person,
    queue,
    report,
    vote,
)
from regrade.ledger.text_validation import is_whole

Row = Mapping[str, Any]

_PERSON, _QUEUE = {"person": person.c.name}, {"queue": queue.c.name}
_ITEM = {**_QUEUE, "example": item.c.example, "class": item.c["class"]}


def _own(table: Any, *names: str) -> dict[str, Column[Any]]:
    return {name: table.c[name] for name in names}


COLUMNS: dict[str, dict[str, Column[Any]]] = {
    "person": {**_PERSON, **_own(person, "role"), "at": person.c.joined},
    "queue": {
        **_QUEUE, **_own(queue, "question", "test_set", "labels", "overlap", "model", "mode"), "at": queue.c.opened
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
}  # fmt: skip
"""What each kind of row holds, by the columns of the database that it comes from."""

_MISSING = {
    ("decision", "person"),  # none where a decision came of itself
    ("report", "cleared_by"),  # none where a report is open
    ("item", "needed"),
}
_ADDED_LATER = {("item", "needed")}  # files of an older regrade have none: it is as many as the queue says
_MAY_BE_EMPTY = {"class", "labels", "model", "reason", "why", "text", "traits", "examples", "alike"}
_WORDS: dict[str, list[str]] = {
    "role": [one.value for one in Role],
    "question": [one.value for one in Question],
    "mode": [one.value for one in Mode],
    "reached": [*(one.value for one in Reached), REOPENED],
}
_LARGEST = 2**31 - 1  # of a whole number in PostgreSQL
_LONGEST = 366 * 24 * 3600.0  # seconds of one answer: more is no time that anyone spent
_EARLIEST = 1970
_IDENTITY = {"person": ("person",), "item": ("queue", "example", "class"), "vote": ("key",)}
"""What a row of a kind is known by; two rows of one file that share it must agree in all else."""


def in_form(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their kind, each complete and of the right types, with its number from 1 as ``row``; others raise.

    So do rows that hold what their kind does not have, and two rows that contradict each other.
    """
    found: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for number, row in enumerate(rows, start=1):
        kind = row.get("kind")
        if not isinstance(kind, str) or kind not in found:
            raise FormatError(f"row {number}: a row of a ledger is a {', '.join(KINDS)}, not a {brief(kind)}")
        try:
            _check_names(kind, row)
            values = {name: _value(kind, name, column, row.get(name)) for name, column in COLUMNS[kind].items()}
        except ValueError as error:
            raise FormatError(f"row {number}, a {kind}: {error}") from None
        found[kind].append({"row": number, **values})
    for kind, names in _IDENTITY.items():
        _refuse_contradictions(found[kind], names)
    return found


def _check_names(kind: str, row: Row) -> None:
    """Raise where a row lacks a name of its kind, or holds something under another one: it would be lost."""
    for name, value in row.items():
        if value is not None and name != "kind" and name not in COLUMNS[kind]:
            raise UnknownName("column", str(name), COLUMNS[kind])
    for name in COLUMNS[kind]:
        if name not in row and (kind, name) not in _ADDED_LATER:
            raise ValueError(f"{name} is missing")


def _refuse_contradictions(rows: Iterable[Row], names: tuple[str, ...]) -> None:
    first: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        before = first.setdefault(tuple(row[name] for name in names), row)
        if differs := [name for name in row if name != "row" and row[name] != before[name]]:
            raise FormatError(f"row {row['row']} has another {differs[0]} than row {before['row']} of the same thing")


def _value(kind: str, name: str, column: Column[Any], value: Any) -> Any:
    if value is None:
        if column.nullable or (kind, name) in _MISSING:
            return None
        if name not in _MAY_BE_EMPTY:
            raise ValueError(f"{name} is missing")
        value = ""
    read = next(reader for type_, reader in _READERS.items() if isinstance(column.type, type_))
    found = read(name, value)
    if isinstance(found, str):
        _check_text(name, column, found)
    if name in ("overlap", "needed") and found < 1:
        raise ValueError(f"an item needs at least one vote, got {name} {found}")
    return found


def _check_text(name: str, column: Column[Any], text: str) -> None:
    length = getattr(column.type, "length", None)
    if length is not None and len(text) > length:
        raise ValueError(f"{name} has {len(text)} letters, and {length} are the most")
    if not text and name not in _MAY_BE_EMPTY and name != "answer":
        raise ValueError(f"{name} is empty")
    if not is_whole(text):
        raise ValueError(f"{name} holds a letter that is none")
    if name in _WORDS and text not in _WORDS[name]:
        raise ValueError(f"{name} is one of {', '.join(_WORDS[name])}, not {text!r}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {brief(value)}")
    return value


def _whole(name: str, value: Any) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) > _LARGEST:
        raise ValueError(f"{name} is a whole number of at most {_LARGEST}, not {brief(value)}")
    return number


def _seconds(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not 0 <= number <= _LONGEST:
        raise ValueError(f"{name} is a time of 0 or more, at most a year, not {brief(value)}")
    return number


def _moment(name: str, value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, datetime) or found.tzinfo is None:
        raise ValueError(f"{name} is a moment with its zone (2026-01-31T12:00:00Z), not {brief(value)}")
    if not _EARLIEST < found.year < datetime.max.year:  # a zone must not lead out of the years there are
        raise ValueError(f"{name} is in the year {found.year}, which is no time at which anyone answered")
    return found.astimezone(UTC)


_READERS: dict[type[Any], Callable[[str, Any], Any]] = {
    TimestampColumn: _moment,
    IntegerColumn: _whole,
    FloatColumn: _seconds,
    EnumColumn: _text,
    TextColumn: _text,
}


def columns_of_all() -> dict[str, Column[Any]]:
    """Every column that any kind of row has, by its name."""
    return {name: column for kind in KINDS for name, column in COLUMNS[kind].items()}
