"""One row, made or brought up to date, in either database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def put(connection: Connection, table: Table, key: dict[str, Any], **values: Any) -> None:
    """Insert a row by its primary key, or give the one that is there these values."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(table).values(**key, **values)
    connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=values))
