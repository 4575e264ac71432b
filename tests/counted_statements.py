"""How many statements and connections work on a ledger takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Engine, event


@dataclass
class Work:
    """The statements that an engine was given, and how often a connection was taken from its pool."""

    statements: list[str] = field(default_factory=list)
    connections: int = 0


@contextmanager
def counted(engine: Engine) -> Iterator[Work]:
    """Count while the block runs."""
    work = Work()

    def note_statement(_connection, _cursor, statement, *_) -> None:
        work.statements.append(statement)

    def note_connection(*_) -> None:
        work.connections += 1

    listeners = (("before_cursor_execute", note_statement), ("checkout", note_connection))
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield work
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)
