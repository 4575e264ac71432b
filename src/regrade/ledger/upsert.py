"""One row, made or brought up to date, in either database."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, Table, bindparam
from sqlalchemy.dialects import postgresql, sqlite


def put(connection: Connection, table: Table, key: dict[str, Any], **values: Any) -> None:
    """Insert a row by its primary key, or give the one that is there these values."""
    connection.execute(_statement(connection.dialect.name, table, tuple(key), tuple(values)), {**key, **values})


def put_once(connection: Connection, table: Table, key: dict[str, Any], **values: Any) -> None:
    """Insert a row by its primary key unless there is one, whoever else does the same at this moment."""
    row = _insert(connection.dialect.name)(table).values(**key, **values)
    connection.execute(row.on_conflict_do_nothing(index_elements=list(key)))


def _insert(dialect: str) -> Callable[[Table], postgresql.Insert | sqlite.Insert]:
    return postgresql.insert if dialect == "postgresql" else sqlite.insert


@cache
def _statement(dialect: str, table: Table, key: tuple[str, ...], values: tuple[str, ...]) -> Executable:
    row = _insert(dialect)(table).values({name: bindparam(name) for name in (*key, *values)})
    return row.on_conflict_do_update(index_elements=key, set_={name: row.excluded[name] for name in values})
