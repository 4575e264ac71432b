"""A Ray cluster: one worker a GPU, or a CPU, on every machine of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from regrade.core import ExecutorError, RegradeError
from regrade.executors.pool import AHEAD, Lost, WorkerPool
from regrade.executors.ray_connection import connected, first_line

_DEATHS = 2  # on one seat before it stays empty
_MOMENT = 1.0  # seconds to wait for an answer before looking for new machines
_PATIENCE = 120.0  # seconds without any worker before the run is given up


@dataclass(frozen=True)
class WorkerSlot:
    """One worker's place: on which machine, the how-manieth there, and after how many others who died on it.

    The last tells a new worker from the one before it, of which bad news may still come in.
    """

    node: str
    number: int
    turn: int = 0


class RayCluster:
    """A connection to a cluster; without an address to one that runs here, or else to one started for the purpose.

    ``per_machine`` is how many workers a machine takes at most; each holds the model in memory once.
    """

    def __init__(self, address: str | None = None, *, per_machine: int | None = None) -> None:
        self.address = address
        self.per_machine = per_machine

    @contextmanager
    def crew(self, make: Callable[[], Any], *, gpus: bool, said: Callable[[Any], None]) -> Iterator[RayWorkerPool]:
        """Workers made by ``make`` on every machine; ``said`` is told what each says of itself (`hello`) first."""
        with connected(self.address):
            crew = RayWorkerPool(make, gpus=gpus, per_machine=self.per_machine, said=said)
            crew.check_room()
            try:
                yield crew
            finally:
                crew.dismiss()


class RayWorkerPool(WorkerPool[WorkerSlot]):
    """Workers as Ray actors. Every machine keeps one CPU free of them, for reading."""

    def __init__(
        self, make: Callable[[], Any], *, gpus: bool, per_machine: int | None, said: Callable[[Any], None]
    ) -> None:
        self._make = make
        self._gpus = gpus
        self._per_machine = per_machine
        self._said = said
        self._hired: dict[WorkerSlot, Any] = {}
        self._greetings: dict[Any, WorkerSlot] = {}
        self._greeted: dict[WorkerSlot, Any] = {}
        self._deaths = Counter[tuple[str, int]]()
        self._looked = 0.0
        self._last_seen = time.monotonic()

    def check_room(self) -> None:
        """Raise where no machine has room for a worker, rather than wait for ever."""
        import ray

        if self._seats():
            return
        what = "a GPU and two CPUs" if self._gpus else "two CPUs"
        have = ", ".join(
            f"{node['NodeManagerAddress']}: {_count(node, 'CPU')} CPUs, {_count(node, 'GPU')} GPUs"
            for node in ray.nodes()
            if node["Alive"]
        )
        raise ExecutorError(
            f"no machine of the cluster has {what}, one CPU for a worker and one left for reading ({have}): "
            "start it with more, e.g. ray start --num-cpus"
        )

    @property
    def lost(self) -> int:
        """How many workers have died."""
        return self._deaths.total()

    def said(self, seat: WorkerSlot) -> Any:
        """What a worker says of itself."""
        return self._greeted[seat]

    def workers(self) -> list[WorkerSlot]:
        """Those that are ready; vacant seats are filled on the way."""
        if time.monotonic() - self._looked > 5 * _MOMENT or not self._hired:
            self._fill_seats()
        self._greet()
        if self._greeted:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > _PATIENCE:
            raise ExecutorError(
                f"no worker was ready within {_PATIENCE:.0f} s: the cluster is busy, or its machines gone"
            )
        return list(self._greeted)

    def first(self) -> WorkerSlot:
        """A worker that is ready, as soon as there is one."""
        while not (ready := self.workers()):
            self.wait(self._greetings)
        return ready[0]

    def ask(self, method: str, *arguments: Any) -> Any:
        """Have one worker, whichever is ready first, answer; one that is lost is replaced."""
        while True:
            seat = self.first()
            try:
                return self.answer(self.submit(seat, method, *arguments))
            except Lost as error:
                self.lose(seat, str(error))

    def submit(self, worker: WorkerSlot, method: str, *arguments: Any) -> Any:
        """Have a worker do something."""
        return self._hired[worker].ask.remote(method, *arguments)

    def wait(self, pending: Iterable[Any]) -> list[Any]:
        """Those pending answers that are there after a moment."""
        import ray

        refs = list(pending)
        if not refs:
            time.sleep(_MOMENT / 10)
            return []
        return list(ray.wait(refs, num_returns=len(refs), timeout=0)[0] or ray.wait(refs, timeout=_MOMENT)[0])

    def answer(self, finished: Any) -> Any:
        """The answer itself; raises what the worker raised, or `Lost`."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            return ray.get(finished)
        except RayTaskError as error:
            cause = error.cause
            if isinstance(cause, RegradeError):
                raise cause from None
            raise ExecutorError(f"a worker failed: {type(cause).__name__}: {first_line(cause)}") from error
        except RayError as error:
            raise Lost(first_line(error)) from None

    def lose(self, worker: WorkerSlot, why: str) -> None:
        """Forget a worker, and fill its seat again, once, if its machine is still there; none left raises."""
        if worker in self._hired:
            self._deaths[worker.node, worker.number] += 1
            self._dismiss(worker)
            self._looked = 0.0
        if not self._hired and not self._seats():
            raise ExecutorError(f"all workers are lost, the last one: {why}")

    def dismiss(self) -> None:
        """End all workers."""
        for seat in list(self._hired):
            self._dismiss(seat)

    def _dismiss(self, seat: WorkerSlot) -> None:
        import ray

        self._greeted.pop(seat, None)
        ray.kill(self._hired.pop(seat))

    def _fill_seats(self) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._looked = time.monotonic()
        for seat in self._seats():
            if seat not in self._hired:
                actor = ray.remote(_Actor).options(
                    num_cpus=1,
                    num_gpus=1 if self._gpus else 0,
                    max_concurrency=AHEAD,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(seat.node, soft=False),
                )
                self._hired[seat] = actor.remote(self._make)
                self._greetings[self.submit(seat, "hello")] = seat

    def _greet(self) -> None:
        """Take in what new workers say of themselves."""
        import ray

        if not self._greetings:
            return
        for ref in ray.wait(list(self._greetings), num_returns=len(self._greetings), timeout=0)[0]:
            seat = self._greetings.pop(ref)
            try:
                told = self.answer(ref)
            except Lost as error:
                self.lose(seat, str(error))
                continue
            self._said(told)
            if seat in self._hired:
                self._greeted[seat] = told

    def _seats(self) -> list[WorkerSlot]:
        """All places for workers: a GPU each, or a CPU each, and one CPU of every machine left for reading."""
        import ray

        seats = []
        for node in ray.nodes():
            if node["Alive"]:
                free = _count(node, "CPU") - 1
                number = min(free, _count(node, "GPU")) if self._gpus else free
                most = number if self._per_machine is None else min(number, self._per_machine)
                seats += [
                    WorkerSlot(node["NodeID"], place, self._deaths[node["NodeID"], place]) for place in range(most)
                ]
        return [seat for seat in seats if seat.turn < _DEATHS]


class _Actor:
    """What runs on a machine of the cluster: a worker, made when it is first asked."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._worker: Any = None

    def ask(self, method: str, *arguments: Any) -> Any:
        if self._worker is None:
            self._worker = self._make()
        return getattr(self._worker, method)(*arguments)


def _count(node: Mapping[str, Any], resource: str) -> int:
    return int(node["Resources"].get(resource, 0))
