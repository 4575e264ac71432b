"""Database triggers that reject changes to append-only tables, whatever tool makes them."""

from __future__ import annotations

from sqlalchemy import Connection

_MESSAGE = "the ledger is append-only: a change is a new row"
_POSTGRES_FUNCTION = f"""
CREATE OR REPLACE FUNCTION regrade_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{_MESSAGE}';
END $$
"""


def forbid_changes(connection: Connection, table: str) -> None:
    """Create triggers that reject UPDATE and DELETE on a table."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_POSTGRES_FUNCTION)
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION regrade_append_only()"
        )
        return
    for change in ("UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
        )


def forbid_replacement(connection: Connection, table: str, *conflicts: str) -> None:
    """Create a trigger that rejects ``INSERT OR REPLACE`` of a stored row.

    ``conflicts`` are SQL conditions on NEW under which a stored row would be replaced. SQLite does not run DELETE
    triggers for such a row; PostgreSQL has no such statement.
    """
    if connection.dialect.name == "postgresql":
        return
    exists = f"SELECT 1 FROM {table} WHERE {' OR '.join(conflicts)}"
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_no_replacement BEFORE INSERT ON {table} WHEN EXISTS ({exists}) "
        f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
    )
