"""How a process ends that is told to: at once, and without a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

INTERRUPTED = 130
"""The exit code of a command that was stopped by Control-C."""

_END_PROCESS = os._exit  # as it is before models run, which may not call it


def leave(code: int) -> NoReturn:
    """End the process with an exit code; threads that still wait for a database are left to themselves."""
    sys.stdout.flush()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        _END_PROCESS(code)
    sys.exit(code)


@contextmanager
def exiting_at_once() -> Iterator[None]:
    """Let Control-C end the process at once: an exception in the middle of an import shows a traceback, or worse."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's affair
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: _END_PROCESS(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
