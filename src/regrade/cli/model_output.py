"""Standard output is for the result: what models print while they run goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

_STDOUT, _STDERR = 1, 2  # file descriptors


@contextmanager
def models_print_to_stderr() -> Iterator[None]:
    """Send what models and their libraries print to standard error; streams that they close stay open."""
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = cast("TextIO", _Unclosable(sys.stderr))
    descriptor = _redirected()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        if descriptor is not None:
            os.dup2(descriptor, _STDOUT)
            os.close(descriptor)


def _redirected() -> int | None:
    """Point standard output's descriptor, to which compiled code writes, to standard error; returns the old one."""
    try:
        kept = os.dup(_STDOUT)
    except OSError:  # the caller has closed it
        return None
    with suppress(OSError):
        os.dup2(_STDERR, _STDOUT)
    return kept


class _Unclosable:
    """A stream that stays open when it is closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def close(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
