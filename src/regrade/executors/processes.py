"""Calls made in processes of their own, one a thread that calls: threads alone would wait for one another."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class Helpers:
    """Stands for a function; what a thread asks of it is answered by that thread's own process.

    The function goes to each process once. A process that dies is replaced by the thread itself, for good.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._sent = pickle.dumps(function)
        self._own = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()  # at the end of its input a process ends by itself
        for process in self._all:
            process.wait()

    def __call__(self, argument: Any) -> Any:
        """The answer of this thread's process."""
        process = self._process()
        if process is None:
            return self._function(argument)
        try:
            pickle.dump(argument, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._own.process = None
            return self._function(argument)

    def _process(self) -> Any | None:
        if not hasattr(self._own, "process"):
            self._own.process = _started()
            with self._starting:
                self._all.append(self._own.process)
            with suppress(OSError):  # of one that died at once its first answer will tell
                self._own.process.stdin.write(self._sent)
        return self._own.process


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # so that a stop from the keyboard reaches the one that asked first
    )


def serve() -> None:
    """In the other process: answer until there is nothing more to answer."""
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr  # what libraries print must not get between the answers
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        function = pickle.load(given)
        while True:
            pickle.dump(function(pickle.load(given)), answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
