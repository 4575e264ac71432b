"""What goes wrong in other people's code, told in one line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from regrade.core import InputError, MissingExtra, RegradeError
from regrade.models.model import OutOfMemory

_SHORTAGES = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate", "bad allocation")


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around the import of an optional dependency: where it is missing, say which extra brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(what, extra) from error
    except Exception as error:  # a build that does not fit its neighbours fails with whatever it meets first
        raise InputError(
            f"{what}: a library is installed but cannot be imported ({first_line(error)}); "
            f"install builds that belong together: pip install --force-reinstall 'regrade[{extra}]'"
        ) from error


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Around code that makes a model ready: any failure becomes an `InputError` that begins with ``what``."""
    try:
        yield
    except RegradeError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {first_line(error)}") from error


@contextmanager
def running(name: str, shape: tuple[int, ...]) -> Iterator[None]:
    """Around one batch: too little memory becomes `OutOfMemory`, any other failure an `InputError`."""
    try:
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
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_shortage(error: Exception) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).casefold()
    return any(shortage in text for shortage in _SHORTAGES)
