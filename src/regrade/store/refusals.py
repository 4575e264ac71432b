"""What a disk refuses, as one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regrade.core import InputError, UnknownName, WriteError, refusal


@contextmanager
def refusals_as_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system on writing to a path into a `WriteError`."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {path}: {refusal(error)}; nothing was left half-written") from error


@contextmanager
def errors_named_after(path: Path) -> Iterator[None]:
    """Put the name of the file that is read in front of an error that does not name it."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        kind = InputError if isinstance(error, UnknownName) else type(error)
        raise kind(f"{path}: {error}") from None
