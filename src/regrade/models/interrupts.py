"""Telling the user's own Control-C from a KeyboardInterrupt that a model raises."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class _ControlC:
    """Whether Control-C is being noticed, and whether it was pressed since."""

    noticed: bool = False
    pressed: bool = False


_STATE = _ControlC()


@contextmanager
def noticing_control_c() -> Iterator[None]:
    """Note every Control-C within this context: a KeyboardInterrupt without one is then the model's own.

    Where the program handles the signal in a way of its own, or this is not the main thread, nothing is changed.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _STATE.noticed, _STATE.pressed = True, False
    signal.signal(signal.SIGINT, _press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _STATE.noticed = False


def is_control_c(error: BaseException) -> bool:
    """Whether an error is the user's Control-C: only the main thread receives it, and it was seen if any is noticed."""
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return _STATE.pressed or not _STATE.noticed


def _press(number: int, frame: FrameType | None) -> None:
    _STATE.pressed = True
    signal.default_int_handler(number, frame)
