"""Whether a ledger's database is whole, and its tables are still protected."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from regrade.ledger.schema import APPEND_ONLY, chain

_PROTECTED = (*(table.name for table in APPEND_ONLY), chain.name)
_POSTGRES_TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'"
_SQLITE_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


def integrity_problems(connection: Connection) -> Iterator[str]:
    """What SQLite's own checks find, and triggers that are missing."""
    if connection.dialect.name == "sqlite":
        for check in ("integrity_check", "foreign_key_check"):
            for row in connection.exec_driver_sql(f"PRAGMA {check}"):
                if tuple(row) != ("ok",):
                    yield f"{check}: {', '.join(map(str, row))}"
    yield from (f"the trigger {name} is missing" for name in _missing_triggers(connection))


def _missing_triggers(connection: Connection) -> Iterator[str]:
    """The triggers that forbid changes and are not there, or not active."""
    postgres = connection.dialect.name == "postgresql"
    active = set(connection.exec_driver_sql(_POSTGRES_TRIGGERS if postgres else _SQLITE_TRIGGERS).scalars())
    kinds = ("append_only",) if postgres else ("no_update", "no_delete", "no_replacement")
    for table in _PROTECTED:
        yield from (name for kind in kinds if (name := f"{table}_{kind}") not in active)
