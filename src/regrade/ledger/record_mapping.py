"""Rows of the ledger as the records that it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import RowMapping

from regrade.ledger.records import Comment, Decision, Item, Mode, Person, Question, Queue, Role, Vote

Record = TypeVar("Record", Person, Queue, Item, Vote, Comment, Decision)

_READ: dict[str, Callable[[Any], Any]] = {"role": Role, "question": Question, "mode": Mode}


def record_of(kind: type[Record], row: RowMapping | Mapping[str, Any]) -> Record:
    """A row as its record; what the record does not name is left out."""
    return kind(**{name: read(row[column]) for name, column, read in _FIELDS[kind]})


def _as_it_is(value: Any) -> Any:
    return value


_FIELDS = {
    kind: [
        (field.name, "class" if field.name == "class_id" else field.name, _READ.get(field.name, _as_it_is))
        for field in fields(kind)
    ]
    for kind in (Person, Queue, Item, Vote, Comment, Decision)
}
"""The fields of each record, with the column that each is read from, and how."""
