"""Context managers that turn low-level errors into messages for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regrade.core import WriteError, refusal


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` on writing to a path into a `WriteError`."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {path}: {refusal(error)}; nothing was left half-written") from error
