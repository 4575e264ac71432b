"""Run tasks on a pool of workers that may fail: every task yields exactly one result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from regrade.core import ExecutorError

Worker = TypeVar("Worker", bound=Hashable)
Task = TypeVar("Task", bound=Hashable)

AHEAD = 2
"""Tasks submitted to a worker at a time: the running one and the next one."""

MAX_LOSSES = 5
"""Number of workers that may be lost on one task before it is given up."""


class WorkerLost(Exception):
    """A worker has failed, and the result of its task is lost."""


class WorkerPool(ABC, Generic[Worker]):
    """A pool of workers; subclasses implement it for an executor."""

    @abstractmethod
    def workers(self) -> list[Worker]:
        """The workers that are ready now, without lost ones; new ones may appear at any time."""

    @abstractmethod
    def submit(self, worker: Worker, method: str, *arguments: Any) -> Any:
        """Call a method of a worker; returns a future."""

    @abstractmethod
    def wait(self, pending: Iterable[Any]) -> list[Any]:
        """The futures that have finished, possibly none; returns after a short time at most."""

    @abstractmethod
    def result(self, finished: Any) -> Any:
        """The result of a finished future; raises what the worker raised, or `WorkerLost`."""

    @abstractmethod
    def lose(self, worker: Worker, why: str) -> None:
        """Remove a lost worker, and replace it if possible."""


def run_tasks(
    pool: WorkerPool[Worker], tasks: Iterable[Task], method: str, arguments: Callable[[Worker, Task], tuple[Any, ...]]
) -> Iterator[tuple[Task, Any]]:
    """Yield each task with its result, in the order of completion; tasks of a lost worker are run again."""
    waiting, losses = deque(tasks), Counter[Task]()
    running: dict[Any, tuple[Worker, Task]] = {}
    while waiting or running:
        load = Counter(worker for worker, _ in running.values())
        for worker in sorted(pool.workers(), key=lambda worker: load[worker]):
            while waiting and load[worker] < AHEAD:
                task = waiting.popleft()
                running[pool.submit(worker, method, *arguments(worker, task))] = worker, task
                load[worker] += 1
        for finished in pool.wait(running):
            worker, task = running.pop(finished)
            try:
                yield task, pool.result(finished)
            except WorkerLost as error:
                pool.lose(worker, str(error))
                losses[task] += 1
                if losses[task] >= MAX_LOSSES:
                    raise ExecutorError(
                        f"{MAX_LOSSES} workers were lost on the same task, the last one: {error}"
                    ) from None
                waiting.appendleft(task)
