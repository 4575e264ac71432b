"""Run a function in subprocesses, one per calling thread, so that threads do not block each other."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

_idle: list[subprocess.Popen[bytes]] = []  # started ahead, and not used yet


class ProcessPerThread:
    """Wraps a function: each thread that calls it runs it in its own subprocess.

    The function is sent to each process once. If a process dies, its thread calls the function itself from then on.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._pickled = pickle.dumps(function)
        self._own = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._all)

    def __call__(self, argument: Any) -> Any:
        """The result of the function, computed in this thread's process."""
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
            with self._starting:
                self._own.process = _idle.pop() if _idle else None
            if self._own.process is None:
                self._own.process = _started()
            with self._starting:
                self._all.append(self._own.process)
            with suppress(OSError):  # a process that died at once is noticed by the first call
                self._own.process.stdin.write(self._pickled)
        return self._own.process


@contextmanager
def started_ahead(count: int, module: str) -> Iterator[None]:
    """Start processes, which import a module meanwhile; `ProcessPerThread` uses them before it starts others."""
    processes = [_started(module) for _ in range(count)]
    _idle.extend(processes)
    try:
        yield
    finally:
        unused = [process for process in processes if process in _idle]
        _idle[:] = [process for process in _idle if process not in unused]
        for process in unused:
            process.kill()  # without waiting for the import
        _end(unused)


def _started(module: str = __name__) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", f"import {module}; from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C must interrupt the parent process only
    )


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()  # a process exits at the end of its input
    for process in processes:
        process.wait()


def serve() -> None:
    """Main loop of a subprocess: read arguments and write results until the input ends."""
    arguments, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr  # output of libraries must not mix with the results
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        function = pickle.load(arguments)
        while True:
            pickle.dump(function(pickle.load(arguments)), results, protocol=pickle.HIGHEST_PROTOCOL)
            results.flush()
