"""Distinguish the user's Control-C from a KeyboardInterrupt that a model raises."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class _ControlC:
    """Whether Control-C is tracked, and whether it was pressed since."""

    tracked: bool = False
    pressed: bool = False


_STATE = _ControlC()


@contextmanager
def tracking_control_c() -> Iterator[None]:
    """Record every Control-C within this context: a KeyboardInterrupt without one was then raised by the model.

    Does nothing in a program that has its own handler of the signal, or outside the main thread.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _STATE.tracked, _STATE.pressed = True, False
    signal.signal(signal.SIGINT, _press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _STATE.tracked = False


def is_control_c(error: BaseException) -> bool:
    """Whether an error is the user's Control-C: raised in the main thread, and recorded if Control-C is tracked."""
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return _STATE.pressed or not _STATE.tracked


def _press(number: int, frame: FrameType | None) -> None:
    _STATE.pressed = True
    signal.default_int_handler(number, frame)
