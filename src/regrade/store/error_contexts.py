"""Context managers that turn low-level errors into messages for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regrade.core import InputError, UnknownName, WriteError, refusal


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` on writing to a path into a `WriteError`."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {path}: {refusal(error)}; nothing was left half-written") from error


@contextmanager
def errors_with_path(path: Path) -> Iterator[None]:
    """Prefix the message of an `InputError` with the path of the file, unless it contains the path already."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        kind = InputError if isinstance(error, UnknownName) else type(error)
        raise kind(f"{path}: {error}") from None
