"""Every task is answered exactly once, whatever becomes of the workers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import ExecutorError
from regrade.executors import Lost, WorkerPool, done_by
from regrade.executors.pool import AHEAD


class Fake(WorkerPool):
    """Workers in name only; ``dies`` says who is lost at which of its tasks, and who comes in the place of each."""

    def __init__(self, workers, dies=lambda *_: False):
        self.there = list(workers)
        self.dies = dies
        self.pending = {}
        self.computed = []
        self.busiest = 0

    def workers(self):
        return list(self.there)

    def submit(self, worker, method, *arguments):
        ticket = object()
        self.pending[ticket] = worker, method, arguments
        loads = [sum(1 for one, *_ in self.pending.values() if one == other) for other in self.there]
        self.busiest = max(self.busiest, *loads)
        return ticket

    def wait(self, pending):
        return list(pending)[-1:]  # the last first: order may not matter

    def answer(self, finished):
        worker, method, arguments = self.pending.pop(finished)
        self.computed.append(arguments[0])
        if worker not in self.there or self.dies(worker, arguments[0]):
            raise Lost(f"{worker} is gone")
        return method, arguments

    def lose(self, worker, why):
        assert why == f"{worker} is gone"
        if worker in self.there:
            self.there.remove(worker)
            self.there.append(f"{worker}'")


def answers(crew, tasks):
    return dict(done_by(crew, tasks, "square", lambda worker, task: (task, worker)))


def test_every_task_once_by_all_workers():
    crew = Fake(["a", "b", "c"])
    found = list(done_by(crew, range(20), "square", lambda worker, task: (task, worker)))
    assert sorted(task for task, _ in found) == list(range(20))
    assert {worker for _, (_, (_, worker)) in found} == {"a", "b", "c"}
    assert all(method == "square" and given == task for task, (method, (given, _)) in found)
    assert crew.busiest == AHEAD


@given(deaths=st.sets(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9)), max_size=8))
def test_what_a_lost_worker_was_at_is_done_again(deaths):
    crew = Fake(["a", "b"], lambda worker, task: (worker, task) in deaths)
    found = list(done_by(crew, range(10), "square", lambda worker, task: (task, worker)))
    assert sorted(task for task, _ in found) == list(range(10))


def test_a_task_that_kills_every_worker_is_given_up():
    crew = Fake(["a", "b"], lambda _, task: task == 3)
    with pytest.raises(ExecutorError, match=r"5 workers were lost over the same work.* is gone"):
        answers(crew, range(6))
    assert crew.computed.count(3) == 5


def test_what_a_worker_raises_ends_the_work():
    class Angry(Fake):
        def answer(self, _):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        answers(Angry(["a"]), range(3))


def test_workers_that_come_later_are_given_work():
    class Late(Fake):
        def workers(self):
            return self.there[: 1 + len(self.computed) // 4]

    found = answers(Late(["a", "b"]), range(12))
    assert {worker for _, (_, worker) in found.values()} == {"a", "b"}


def test_no_task_is_no_work():
    assert answers(Fake([]), []) == {}
