"""What goes wrong in other people's code, told in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import numpy as np

from regrade.core import InputError, MissingExtra, RegradeError
from regrade.models.interrupts import is_control_c
from regrade.models.model import OutOfMemory

_SHORTAGES = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate", "bad allocation")
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_END_PROCESS = os._exit
_guards: dict[object, int] = {}  # the process of each call of other people's code
_STREAMS = (1, 2)  # the descriptors of standard output and error


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around the import of an optional dependency: where it is missing, say which extra brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(what, extra) from error
    except Exception as error:  # a build that does not fit its neighbors fails with whatever it meets first
        raise InputError(
            f"{what}: a library is installed but cannot be imported ({first_line(error)}); "
            f"install builds that belong together: pip install --force-reinstall 'regrade[{extra}]'"
        ) from error


@contextmanager
def contained() -> Iterator[None]:
    """Around other people's code: what it raises is always an `Exception`, unless the user pressed Control-C.

    Its changes to numpy's error state, to the filters that turn warnings into errors, to the mode of new files and to
    the recursion limit are undone, its timers are stopped, standard output and error stay open, `os._exit` raises, and
    a process that it forked does not go on with our work.
    """
    process, strict, mask, depth = os.getpid(), _strict_filters(), _umask(), sys.getrecursionlimit()
    with np.errstate(), _no_timers_left(), _standard_streams_open(), _process_kept():
        try:
            try:
                yield
            finally:
                sys.setrecursionlimit(depth)  # first of all: with a low limit no function of ours can be called
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
    """Let `os._exit` raise in this process, of which nothing could be told afterwards; a child still ends by it."""
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
    """The mode that new files do not get; it can be read only by setting it, here to a stricter one for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def _no_timers_left() -> Iterator[None]:
    """Stop timers that were not running before: their signal would end our own code, or run theirs in it."""
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
    """Open standard output and error again where they were closed: the next file would get their descriptor."""
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
    """Something that other people's code raised and that would have ended the program: SystemExit and the like."""


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Around code that makes a model ready: any failure becomes an `InputError` that begins with ``what``."""
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
    except RegradeError:
        raise
    except Exception as error:
        if _is_shortage(error):
            traceback.clear_frames(error.__traceback__)  # they hold the arrays that a smaller batch needs room for
            raise OutOfMemory(f"{name}: a batch of {shape[0]} does not fit into memory") from None
        raise InputError(f"{name} failed on a batch of shape {shape}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The kind of an error and the first line of what it says."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, Uncaught):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_shortage(error: Exception) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).casefold()
    return any(shortage in text for shortage in _SHORTAGES)


def _strict_filters() -> list[object]:
    return [entry for entry in warnings.filters if entry[0] == "error"]


def _undo_strict_filters(before: list[object]) -> None:
    """Take out filters that turn warnings into errors and were not there before: our own code may warn."""
    for entry in _strict_filters():
        if entry not in before:
            with suppress(ValueError):  # another thread has put back the filters of before
                warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _end_child(error: BaseException | None) -> None:
    """End a process that other people's code forked and did not end itself."""
    if isinstance(error, SystemExit):
        _END_PROCESS(error.code if isinstance(error.code, int) else int(error.code is not None))
    _END_PROCESS(int(error is not None))
