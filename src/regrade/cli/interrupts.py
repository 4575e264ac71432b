"""Ending the process on Control-C: immediately and without a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

INTERRUPTED = 130
"""Exit code of a command that was interrupted by Control-C."""

_END_PROCESS = os._exit  # the original: it is replaced while models run


def leave(code: int) -> NoReturn:
    """End the process with an exit code, without waiting for threads that still wait for a database."""
    sys.stdout.flush()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        _END_PROCESS(code)
    sys.exit(code)


@contextmanager
def exiting_at_once() -> Iterator[None]:
    """Make Control-C end the process at once: KeyboardInterrupt in the middle of an import prints a traceback."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signal handlers
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: _END_PROCESS(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
