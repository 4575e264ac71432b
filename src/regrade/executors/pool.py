"""Work handed out to workers that may be lost: every task is done exactly once, whoever does it in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from regrade.core import ExecutorError

Worker = TypeVar("Worker", bound=Hashable)
Task = TypeVar("Task", bound=Hashable)

AHEAD = 2
"""Tasks a worker has at a time: one at work, and the next one already there."""

PATIENCE = 5
"""How many workers may be lost over one task before it is given up."""


class Lost(Exception):
    """A worker is gone, and with it what it was at."""


class WorkerPool(ABC, Generic[Worker]):
    """Workers, as an executor provides them."""

    @abstractmethod
    def workers(self) -> list[Worker]:
        """Those that are ready now; new ones may turn up, lost ones are left out."""

    @abstractmethod
    def submit(self, worker: Worker, method: str, *arguments: Any) -> Any:
        """Have a worker do something; returns what stands for the answer until it is there."""

    @abstractmethod
    def wait(self, pending: Iterable[Any]) -> list[Any]:
        """Some of the pending answers that are there, after a moment at most; maybe none."""

    @abstractmethod
    def answer(self, finished: Any) -> Any:
        """The answer itself; raises what the worker raised, or `Lost`."""

    @abstractmethod
    def lose(self, worker: Worker, why: str) -> None:
        """A worker was found to be gone: look for another."""


def done_by(
    crew: WorkerPool[Worker], tasks: Iterable[Task], method: str, arguments: Callable[[Worker, Task], tuple[Any, ...]]
) -> Iterator[tuple[Task, Any]]:
    """Each task with its answer, in the order in which they are done; what a lost worker was at is done again."""
    waiting, losses = deque(tasks), Counter[Task]()
    at_work: dict[Any, tuple[Worker, Task]] = {}
    while waiting or at_work:
        load = Counter(worker for worker, _ in at_work.values())
        for worker in sorted(crew.workers(), key=lambda one: load[one]):
            while waiting and load[worker] < AHEAD:
                task = waiting.popleft()
                at_work[crew.submit(worker, method, *arguments(worker, task))] = worker, task
                load[worker] += 1
        for finished in crew.wait(at_work):
            worker, task = at_work.pop(finished)
            try:
                yield task, crew.answer(finished)
            except Lost as error:
                crew.lose(worker, str(error))
                losses[task] += 1
                if losses[task] >= PATIENCE:
                    raise ExecutorError(
                        f"{PATIENCE} workers were lost over the same work, the last one: {error}"
                    ) from None
                waiting.appendleft(task)
