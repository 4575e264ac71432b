"""Processes that are killed at a chosen moment: before the n-th change that they make to the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

KILLED = 137
_FAILED = 99
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def run_killed(action: Callable[[], object], *, at: int, below: Path) -> bool:
    """Run an action in a process of its own, killed before change number ``at`` below a folder; whether it got through.

    An action that raises raises here too: only being killed may stop it.
    """
    process = os.fork()
    if process == 0:
        os._exit(_in_child(action, at, os.path.realpath(below)))
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, KILLED):
        raise RuntimeError(f"the action failed with {code} before change {at}")
    return code == 0


def _in_child(action: Callable[[], object], at: int, below: str) -> int:
    left = at

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if _changes(event, arguments, below):
            left -= 1
            if left < 0:
                os._exit(KILLED)

    sys.addaudithook(count)
    try:
        action()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        return _FAILED
    return 0


def _changes(event: str, arguments: tuple[Any, ...], below: str) -> bool:
    """Whether an event of the interpreter is a change to a path below a folder."""
    if event == "open":
        path, _, flags = arguments
        return bool(flags & _WRITING) and _is_below(path, below)
    return event in _CHANGES and any(_is_below(path, below) for path in arguments[:2])


def _is_below(path: Any, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    return os.path.realpath(os.fsdecode(path)).startswith(folder)
