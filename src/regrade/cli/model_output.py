"""Redirect what models print to standard error: standard output is reserved for the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

_STDOUT, _STDERR = 1, 2  # file descriptors


@contextmanager
def models_print_to_stderr() -> Iterator[None]:
    """Send what models and their libraries print to standard error, and keep the streams open if they close them."""
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = cast("TextIO", _Unclosable(sys.stderr))
    descriptor = _redirect_stdout()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        if descriptor is not None:
            os.dup2(descriptor, _STDOUT)
            os.close(descriptor)


def _redirect_stdout() -> int | None:
    """Redirect the file descriptor of standard output, used by compiled code, to standard error; return a copy."""
    try:
        copy = os.dup(_STDOUT)
    except OSError:  # the caller has closed it
        return None
    with suppress(OSError):
        os.dup2(_STDERR, _STDOUT)
    return copy


class _Unclosable:
    """A stream whose close() only flushes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def close(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
