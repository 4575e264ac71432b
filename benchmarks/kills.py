"""Run functions in processes that are killed before their n-th change to the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_END_PROCESS = os._exit  # models may not call it
KILLED = 137
_FAILED = 99
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def run_killed(action: Callable[[], object], *, at: int, below: Path) -> bool:
    """Run an action in a new process, killed before change number ``at`` below a folder; returns whether it finished.

    An action that raises also raises here; only the kill may stop it.
    """
    process = os.fork()
    if process == 0:
        _END_PROCESS(_in_child(action, at, os.path.realpath(below)))
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, KILLED):
        raise RuntimeError(f"the action failed with {code} before change {at}")
    return code == 0


def count_changes(action: Callable[[], object], *, below: Path) -> int:
    """Run an action in a new process, and count its changes below a folder."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        changes = _counted(os.path.realpath(below), lambda _: None)
        code = _ended(action)
        os.write(writing, str(len(changes)).encode())
        _END_PROCESS(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        count = int(pipe.read())
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
        raise RuntimeError("the action failed")
    return count


def _in_child(action: Callable[[], object], at: int, below: str) -> int:
    def kill(changes: int) -> None:
        if changes > at:
            _END_PROCESS(KILLED)

    _counted(below, kill)
    return _ended(action)


def _counted(below: str, before: Callable[[int], None]) -> list[str]:
    """The changes that this process makes from now on; ``before`` is called with the number of each change first."""
    changes: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if _changes(event, arguments, below):
            changes.append(event)
            before(len(changes))

    sys.addaudithook(note)
    return changes


def _ended(action: Callable[[], object]) -> int:
    try:
        action()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        return _FAILED
    return 0


def _changes(event: str, arguments: tuple[Any, ...], below: str) -> bool:
    """Whether an audit event is a change to a path below a folder."""
    if event == "open":
        path, _, flags = arguments
        return bool(flags & _WRITING) and _is_below(path, below)
    return event in _CHANGES and any(_is_below(path, below) for path in arguments[:2])


def _is_below(path: Any, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    return os.path.realpath(os.fsdecode(path)).startswith(folder)
