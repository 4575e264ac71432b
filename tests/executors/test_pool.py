"""`run_tasks` yields exactly one result per task, even if workers are lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import ExecutorError
from regrade.executors import WorkerLost, WorkerPool, run_tasks
from regrade.executors.pool import AHEAD


class FakePool(WorkerPool):
    """A pool without real workers; ``dies`` says whether a worker is lost on a task. Lost workers are replaced."""

    def __init__(self, workers, dies=lambda *_: False):
        self.alive = list(workers)
        self.dies = dies
        self.pending = {}
        self.computed = []
        self.busiest = 0

    def workers(self):
        return list(self.alive)

    def submit(self, worker, method, *arguments):
        ticket = object()
        self.pending[ticket] = worker, method, arguments
        busy = [busy_worker for busy_worker, *_ in self.pending.values()]
        self.busiest = max(self.busiest, *(busy.count(worker) for worker in self.alive))
        return ticket

    def wait(self, pending):
        return list(pending)[-1:]  # the last one first: the order must not matter

    def result(self, finished):
        worker, method, arguments = self.pending.pop(finished)
        self.computed.append(arguments[0])
        if worker not in self.alive or self.dies(worker, arguments[0]):
            raise WorkerLost(f"{worker} is gone")
        return method, arguments

    def lose(self, worker, why):
        assert why == f"{worker} is gone"
        if worker in self.alive:
            self.alive.remove(worker)
            self.alive.append(f"{worker}'")


def run(pool, tasks):
    return list(run_tasks(pool, tasks, "square", lambda worker, task: (task, worker)))


def test_run_tasks_runs_each_task_once_on_all_workers():
    pool = FakePool(["a", "b", "c"])
    results = run(pool, range(20))
    assert sorted(task for task, _ in results) == list(range(20))
    assert {worker for _, (_, (_, worker)) in results} == {"a", "b", "c"}
    assert all(method == "square" and argument == task for task, (method, (argument, _)) in results)
    assert pool.busiest == AHEAD


@given(deaths=st.sets(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9)), max_size=8))
def test_run_tasks_repeats_tasks_of_lost_workers(deaths):
    pool = FakePool(["a", "b"], lambda worker, task: (worker, task) in deaths)
    assert sorted(task for task, _ in run(pool, range(10))) == list(range(10))


def test_run_tasks_gives_up_on_a_task_that_kills_every_worker():
    pool = FakePool(["a", "b"], lambda _, task: task == 3)
    with pytest.raises(ExecutorError, match=r"5 workers were lost on the same task.* is gone"):
        run(pool, range(6))
    assert pool.computed.count(3) == 5


def test_run_tasks_raises_errors_of_workers():
    class FailingPool(FakePool):
        def result(self, _):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(FailingPool(["a"]), range(3))


def test_run_tasks_uses_workers_that_join_later():
    class GrowingPool(FakePool):
        def workers(self):
            return self.alive[: 1 + len(self.computed) // 4]

    results = run(GrowingPool(["a", "b"]), range(12))
    assert {worker for _, (_, (_, worker)) in results} == {"a", "b"}


def test_run_tasks_without_tasks_needs_no_workers():
    assert run(FakePool([]), []) == []
