"""Failing databases: SQLite errors caused on purpose, for every engine of this process."""

import sqlite3
from contextlib import contextmanager

from sqlalchemy import Engine, event


@contextmanager
def listening(name, listener):
    """Call a listener on an event of every engine."""
    event.listen(Engine, name, listener)
    try:
        yield
    finally:
        event.remove(Engine, name, listener)


def read_only():
    """New connections are read-only: "attempt to write a readonly database"."""
    return listening("connect", lambda connection, _: connection.execute("PRAGMA query_only=ON"))


def full():
    """Files cannot grow: "database or disk is full"."""
    return listening("connect", lambda connection, _: connection.execute("PRAGMA max_page_count=1"))


def raising(message, kind=sqlite3.OperationalError):
    """Every statement fails with a message of SQLite that is hard to cause."""

    def fail(*_):
        raise kind(message)

    return listening("do_execute", fail)


def damage(path):
    """Overwrite all pages but the first: "database disk image is malformed"."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
