"""Rows of the ledger as the records that it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import RowMapping

from regrade.ledger.records import Comment, Decision, Item, Mode, Person, Question, Queue, Role, Vote

Record = TypeVar("Record", Person, Queue, Item, Vote, Comment, Decision)

_READ: dict[str, Callable[[Any], Any]] = {"role": Role, "question": Question, "mode": Mode}


def record_of(kind: type[Record], row: RowMapping) -> Record:
    """A row as its record; what the record does not name is left out."""
    values = {"class_id": row.get("class"), **row}
    return kind(**{one.name: _READ.get(one.name, _as_it_is)(values[one.name]) for one in fields(kind)})


def _as_it_is(value: Any) -> Any:
    return value
