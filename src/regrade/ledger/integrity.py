"""Whether a ledger's database is whole, has the schema of a ledger, and its tables are still protected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, Integer, func, inspect, select

from regrade.core.amounts import amount
from regrade.ledger.database import expected_schema, schema_objects
from regrade.ledger.schema import APPEND_ONLY, Number, Whole, chain, metadata

_PROTECTED = (*(table.name for table in APPEND_ONLY), chain.name)
_POSTGRES_TRIGGERS = """
SELECT tgname FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE tgenabled <> 'D' AND tgqual IS NULL AND prosrc LIKE '%%RAISE EXCEPTION%%'
"""


def integrity_problems(connection: Connection) -> Iterator[str]:
    """What SQLite's own checks find, and parts of the schema that are missing, changed or not the ledger's own."""
    if connection.dialect.name == "sqlite":
        for check in ("integrity_check", "foreign_key_check"):
            for row in connection.exec_driver_sql(f"PRAGMA {check}"):
                if tuple(row) != ("ok",):
                    yield f"{check}: {', '.join(map(str, row))}"
        yield from _wrong_types(connection)
        yield from _schema_problems(schema_objects(connection), expected_schema())
    else:
        active = set(connection.exec_driver_sql(_POSTGRES_TRIGGERS).scalars())
        expected = (f"{table}_append_only" for table in _PROTECTED)
        yield from (f"the trigger {name} is missing or changed" for name in expected if name not in active)


def _wrong_types(connection: Connection) -> Iterator[str]:
    """Columns with values of another type than was ever written: SQLite itself takes any."""
    stored = inspect(connection)
    for table in metadata.sorted_tables:
        names = {column["name"] for column in stored.get_columns(table.name)} if stored.has_table(table.name) else set()
        columns = [column for column in table.c if column.name in names]
        if not columns:
            continue
        wrong = [func.count().filter(func.typeof(column).not_in(_stored_as(column))) for column in columns]
        for column, count in zip(columns, connection.execute(select(*wrong).select_from(table)).one(), strict=True):
            if count:
                yield f"{table.name}.{column.name}: {amount(count, 'value')} of a wrong type"


def _stored_as(column: Column[Any]) -> tuple[str, ...]:
    """What SQLite calls the values that a column may hold."""
    if isinstance(column.type, Number):
        return "real", "integer", "null"
    return ("integer", "null") if isinstance(column.type, Whole | Integer) else ("text", "null")


def _schema_problems(stored: dict[str, str], expected: dict[str, str]) -> Iterator[str]:
    """Tables, indexes, views and triggers that a new ledger has otherwise, or does not have."""
    yield from (f"the {name} is missing" for name in expected if name not in stored)
    yield from (f"the {name} is not the ledger's own" for name in stored if name not in expected)
    both = stored.keys() & expected.keys()
    yield from (f"the {name} was changed" for name in sorted(both) if stored[name] != expected[name])
