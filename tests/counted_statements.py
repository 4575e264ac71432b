"""Count the SQL statements and connections that an engine uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Engine, event


@dataclass
class Usage:
    """The statements that an engine executed, and the number of connections taken from its pool."""

    statements: list[str] = field(default_factory=list)
    connections: int = 0


@contextmanager
def counted(engine: Engine) -> Iterator[Usage]:
    """Count while the block runs."""
    usage = Usage()

    def note_statement(_connection, _cursor, statement, *_) -> None:
        usage.statements.append(statement)

    def note_connection(*_) -> None:
        usage.connections += 1

    listeners = (("before_cursor_execute", note_statement), ("checkout", note_connection))
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield usage
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)
