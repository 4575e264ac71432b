"""Triggers that let no one change or delete what people said, whatever tool they use."""

from __future__ import annotations

from sqlalchemy import Connection

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION regrade_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: a change is a new row';
END $$
"""


def forbid_changes(connection: Connection, table: str) -> None:
    """Make a table append-only."""
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
            "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a change is a new row'); END"
        )
