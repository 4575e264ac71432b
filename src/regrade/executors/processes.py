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


class _Worker:
    """A subprocess, which says once that it has imported what it needs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._stdin: Any = process.stdin
        self._stdout: Any = process.stdout
        self.has_function = False
        self.ready = threading.Event()
        threading.Thread(target=self._listen, daemon=True, name="start").start()

    def _listen(self) -> None:
        with suppress(OSError, ValueError):
            self._stdout.read(1)
        self.ready.set()  # also if the process died, which the first call notices

    def send_function(self, pickled: bytes) -> None:
        with suppress(OSError):
            self._stdin.write(pickled)
        self.has_function = True

    def call(self, argument: Any) -> Any:
        pickle.dump(argument, self._stdin)
        self._stdin.flush()
        return pickle.load(self._stdout)


_idle: list[_Worker] = []  # started ahead, and not used yet


class ProcessPerThread:
    """Wraps a function: each thread that calls it runs it in its own subprocess.

    The function is sent to each process once. If a process dies, its thread calls the function itself from then on.
    With ``meanwhile``, threads call it themselves until their processes have started.
    """

    def __init__(self, function: Callable[[Any], Any], *, meanwhile: bool = False) -> None:
        self._function = function
        self._pickled = pickle.dumps(function)
        self._meanwhile = meanwhile
        self._own = threading.local()
        self._all: list[_Worker] = []
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._all)

    def __call__(self, argument: Any) -> Any:
        """The result of the function, computed in this thread's process."""
        worker = self._worker()
        if worker is None or (self._meanwhile and not worker.ready.is_set()):
            return self._function(argument)
        worker.ready.wait()
        if not worker.has_function:
            worker.send_function(self._pickled)
        try:
            return worker.call(argument)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._own.worker = None
            return self._function(argument)

    def _worker(self) -> _Worker | None:
        if not hasattr(self._own, "worker"):
            with self._starting:
                idle = _idle.pop() if _idle else None
            self._own.worker = idle or _Worker(_started())
            with self._starting:
                self._all.append(self._own.worker)
        worker: _Worker | None = self._own.worker
        return worker


@contextmanager
def started_ahead(count: int, module: str) -> Iterator[None]:
    """Start processes, which import a module meanwhile; `ProcessPerThread` uses them before it starts others."""
    workers = [_Worker(_started(module)) for _ in range(count)]
    _idle.extend(workers)
    try:
        yield
    finally:
        unused = [worker for worker in workers if worker in _idle]
        _idle[:] = [worker for worker in _idle if worker not in unused]
        _end(unused)


def _started(module: str = __name__) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", f"import {module}; from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C must interrupt the parent process only
    )


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        if not worker.ready.is_set():
            worker.process.kill()  # without waiting for its imports
    for worker in workers:
        worker.ready.wait()
        for pipe in (worker.process.stdin, worker.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()  # a process exits at the end of its input
    for worker in workers:
        worker.process.wait()


def serve() -> None:
    """Main loop of a subprocess: read arguments and write results until the input ends."""
    arguments, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr  # output of libraries must not mix with the results
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        results.write(b"+")  # ready
        results.flush()
        function = pickle.load(arguments)
        while True:
            pickle.dump(function(pickle.load(arguments)), results, protocol=pickle.HIGHEST_PROTOCOL)
            results.flush()
