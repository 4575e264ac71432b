"""The command line: `regrade COMMAND --help` is enough to use a command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["END_PROCESS", "INTERRUPTED", "exiting_at_once", "main"]

INTERRUPTED = 130
"""Exit code of a command that was interrupted by Control-C."""

END_PROCESS = os._exit
"""Ends the process at once; the original function, which is replaced while models run."""


def main() -> None:
    """Run a command; Control-C ends it without a traceback, also during imports."""
    with exiting_at_once():
        from regrade.cli.app import main as run
    try:
        run()
    except KeyboardInterrupt:  # between the imports and the command
        sys.exit(INTERRUPTED)


@contextmanager
def exiting_at_once() -> Iterator[None]:
    """Make Control-C end the process at once: KeyboardInterrupt in the middle of an import prints a traceback."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signal handlers
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: END_PROCESS(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
