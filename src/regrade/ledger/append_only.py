"""Triggers that let no one change, delete or replace what people said, whatever tool they use."""

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
    """Refuse to change or delete rows of a table."""
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


def forbid_replacement(connection: Connection, table: str, *same: str) -> None:
    """Refuse ``INSERT OR REPLACE`` where a row is the ``same`` as a stored one, in terms of SQL about NEW.

    SQLite deletes the stored row then without its triggers for deletion; PostgreSQL has no such statement.
    """
    if connection.dialect.name == "postgresql":
        return
    exists = f"SELECT 1 FROM {table} WHERE {' OR '.join(same)}"
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_no_replacement BEFORE INSERT ON {table} WHEN EXISTS ({exists}) "
        f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
    )
