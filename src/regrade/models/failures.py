"""Errors in other people's code, reported in one line; the user's Control-C is told apart from them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

import numpy as np

from regrade.core import InputError, MissingExtra, RegradeError
from regrade.models.model import OutOfMemory

_SHORTAGES = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate", "bad allocation")
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_END_PROCESS = os._exit
_guards: dict[object, int] = {}  # the process id of each running call of other people's code
_STREAMS = (1, 2)  # file descriptors of standard output and standard error


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around the import of an optional dependency: if it is missing, name the extra that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(what, extra) from error
    except Exception as error:  # incompatible builds fail with whatever error comes first
        raise InputError(
            f"{what}: a library is installed but cannot be imported ({first_line(error)}); "
            f"install matching builds: pip install --force-reinstall 'regrade[{extra}]'"
        ) from error


@contextmanager
def contained() -> Iterator[None]:
    """Around other people's code: whatever it raises becomes an `Exception`, unless the user pressed Control-C.

    Changes to numpy's error state, to warning filters that raise errors, to the umask and to the recursion limit are
    undone. Timers that the code started are stopped, standard output and error stay open, `os._exit` raises, and a
    process that the code forked ends here.
    """
    process, strict, mask, depth = os.getpid(), _strict_filters(), _umask(), sys.getrecursionlimit()
    with np.errstate(), _no_timers_left(), _standard_streams_open(), _process_kept():
        try:
            try:
                yield
            finally:
                sys.setrecursionlimit(depth)  # first: under a low limit none of our functions can be called
        except Exception:
            raise
        except BaseException as error:
            if is_control_c(error) or os.getpid() != process:
                raise
            raise Uncaught(first_line(error)) from error
        finally:
            if os.getpid() != process:
                _end_child(sys.exc_info()[1])
            _undo_strict_filters(strict)
            os.umask(mask)


@contextmanager
def _process_kept() -> Iterator[None]:
    """Let `os._exit` raise in this process, which could report nothing afterwards; child processes still exit."""
    guard = object()
    _guards[guard] = os.getpid()
    os._exit = _refuse_end
    try:
        yield
    finally:
        del _guards[guard]
        if not _guards:
            os._exit = _END_PROCESS


def _refuse_end(status: int) -> NoReturn:
    if os.getpid() not in list(_guards.values()):
        _END_PROCESS(status)
    raise SystemExit(f"os._exit({status})")


def _umask() -> int:
    """The umask; it can be read only by setting it, here briefly to a stricter one."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def _no_timers_left() -> Iterator[None]:
    """Stop timers that were not running before: their signal would interrupt our own code."""
    idle = [timer for timer in _TIMERS if signal.getitimer(timer)[0] == 0]
    alarm = signal.getsignal(signal.SIGALRM)
    try:
        yield
    finally:
        for timer in idle:
            signal.setitimer(timer, 0)
        if threading.current_thread() is threading.main_thread() and alarm is not None:
            signal.signal(signal.SIGALRM, alarm)


@contextmanager
def _standard_streams_open() -> Iterator[None]:
    """Reopen standard output and error if they were closed: the next opened file would get their descriptor."""
    copies = {descriptor: os.dup(descriptor) for descriptor in _STREAMS if _is_open(descriptor)}
    try:
        yield
    finally:
        for descriptor, copy in copies.items():
            with suppress(OSError):  # the copy may have been closed too
                if not _is_open(descriptor):
                    os.dup2(copy, descriptor)
                os.close(copy)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class Uncaught(Exception):
    """An error of other people's code that would have ended the program, such as SystemExit."""


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Around code that loads a model: any failure becomes an `InputError` that begins with ``what``."""
    try:
        with contained():
            yield
    except RegradeError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {first_line(error)}") from error


@contextmanager
def running(name: str, shape: tuple[int, ...]) -> Iterator[None]:
    """Around one batch: too little memory becomes `OutOfMemory`, any other failure an `InputError`."""
    try:
        with contained():
            yield
    except (RegradeError, OutOfMemory):
        raise
    except Exception as error:
        if is_shortage(error):
            traceback.clear_frames(error.__traceback__)  # free the arrays that the frames still reference
            raise OutOfMemory(f"{name}: a batch of {shape[0]} does not fit into memory") from None
        raise InputError(f"{name} failed on a batch of shape {shape}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, Uncaught):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_shortage(error: Exception) -> bool:
    """Whether an error means that there is too little memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).casefold()
    return any(shortage in text for shortage in _SHORTAGES)


def _strict_filters() -> list[object]:
    return [entry for entry in warnings.filters if entry[0] == "error"]


def _undo_strict_filters(before: list[object]) -> None:
    """Remove new filters that turn warnings into errors: our own code may warn."""
    for entry in _strict_filters():
        if entry not in before:
            with suppress(ValueError):  # another thread has already restored the filters
                warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _end_child(error: BaseException | None) -> None:
    """End a process that other people's code forked and did not end."""
    if isinstance(error, SystemExit):
        _END_PROCESS(error.code if isinstance(error.code, int) else int(error.code is not None))
    _END_PROCESS(int(error is not None))


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
