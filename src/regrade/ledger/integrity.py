"""Check the integrity of a ledger's database, its schema and the triggers that protect it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Column, Connection, Integer, func, inspect, select, text

from regrade.core.amounts import amount
from regrade.ledger.column_types import FloatColumn, IntegerColumn
from regrade.ledger.database import expected_schema, schema_objects
from regrade.ledger.schema import APPEND_ONLY, chain, metadata

_PROTECTED = (*(table.name for table in APPEND_ONLY), chain.name)
_POSTGRES_TRIGGERS = """
SELECT tgname FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE tgenabled <> 'D' AND tgqual IS NULL AND prosrc LIKE '%%RAISE EXCEPTION%%'
"""

_POSTGRES_ADDITIONS = """
SELECT 'trigger', tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND relname = ANY(:tables) AND pg_table_is_visible(pg_class.oid)
UNION ALL SELECT 'rule', rulename, relname FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
WHERE relname = ANY(:tables) AND relkind = 'r' AND pg_table_is_visible(pg_class.oid)
"""
_KINDS = {"fk": "foreign key"}


def integrity_problems(connection: Connection) -> Iterator[str]:
    """Describe what SQLite's own checks report and schema objects that are missing, changed or unexpected."""
    if connection.dialect.name == "sqlite":
        for check in ("integrity_check", "foreign_key_check"):
            for row in connection.exec_driver_sql(f"PRAGMA {check}"):
                if tuple(row) != ("ok",):
                    yield f"{check}: {', '.join(map(str, row))}"
        yield from _wrong_types(connection)
        yield from _schema_problems(schema_objects(connection), expected_schema())
    else:
        yield from _trigger_problems(connection)
        yield from _structure_problems(connection)


def _trigger_problems(connection: Connection) -> Iterator[str]:
    """Missing or disabled triggers in PostgreSQL, and unexpected triggers and rules that could change rows."""
    active = set(connection.exec_driver_sql(_POSTGRES_TRIGGERS).scalars())
    expected = [f"{table}_append_only" for table in _PROTECTED]
    yield from (f"the trigger {name} is missing or changed" for name in expected if name not in active)
    tables = {"tables": list(metadata.tables)}
    for kind, name, table in connection.execute(text(_POSTGRES_ADDITIONS), tables):
        if name not in expected:
            yield f"the {kind} {name} of {table} is not part of the ledger"


def _structure_problems(connection: Connection) -> Iterator[str]:
    """Tables, columns, keys, indexes and constraints in PostgreSQL that differ from those of a new ledger.

    Unknown tables are ignored: they may belong to other programs that share the database.
    """
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    for difference in compare_metadata(context, metadata):
        if isinstance(difference, list):
            yield from sorted({f"the column {table}.{column} was changed" for _, _, table, column, *_ in difference})
        elif difference[0] != "remove_table":
            action, _, kind = difference[0].partition("_")
            problem = "is missing" if action == "add" else "is not part of the ledger"
            yield f"the {_KINDS.get(kind, kind)} {_object_name(difference)} {problem}"
    yield from _key_problems(connection)


def _object_name(difference: tuple[Any, ...]) -> str:
    """The name of the column, key, index or constraint that differs, with its table."""
    *_, part = difference
    if isinstance(part, Column):
        return f"{difference[2]}.{part.name}"
    table = getattr(part, "table", None)
    return str(part.name) if table is None else f"{part.name or 'without a name'} of {table.name}"


def _key_problems(connection: Connection) -> Iterator[str]:
    """Primary keys and checks in PostgreSQL that differ."""
    stored = inspect(connection)
    for table in metadata.sorted_tables:
        if not stored.has_table(table.name):
            continue
        if stored.get_pk_constraint(table.name)["constrained_columns"] != [c.name for c in table.primary_key]:
            yield f"the primary key of {table.name} was changed"
        checks = {check["name"]: _literals(check["sqltext"]) for check in stored.get_check_constraints(table.name)}
        expected = {str(c.name): _literals(str(c.sqltext)) for c in table.constraints if isinstance(c, CheckConstraint)}
        yield from _schema_problems(
            {f"check {name} of {table.name}": values for name, values in checks.items()},
            {f"check {name} of {table.name}": values for name, values in expected.items()},
        )


def _literals(sql: str) -> str:
    """The literals in a condition, which every database writes in the same way."""
    return " ".join(sorted(re.findall(r"'[^']*'|\b\d+", sql)))


def _wrong_types(connection: Connection) -> Iterator[str]:
    """Columns with values of a wrong type: SQLite itself accepts any type."""
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
    """The SQLite storage classes that a column may contain."""
    if isinstance(column.type, FloatColumn):
        return "real", "integer", "null"
    return ("integer", "null") if isinstance(column.type, IntegerColumn | Integer) else ("text", "null")


def _schema_problems(stored: dict[str, str], expected: dict[str, str]) -> Iterator[str]:
    """Schema objects that differ from those of a new ledger."""
    yield from (f"the {name} is missing" for name in expected if name not in stored)
    yield from (f"the {name} is not part of the ledger" for name in stored if name not in expected)
    both = stored.keys() & expected.keys()
    yield from (f"the {name} was changed" for name in sorted(both) if stored[name] != expected[name])
