"""Workers on a Ray cluster: one per GPU or per CPU of every machine."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, cast

from regrade.core import ExecutorError, MissingExtra, RegradeError
from regrade.executors.pool import AHEAD, WorkerLost, WorkerPool

_MAX_DEATHS = 2  # workers that may die in one slot before it stays empty
_POLL = 1.0  # seconds to wait for a result before looking for new machines
_TIMEOUT = 120.0  # seconds without any ready worker before the run is given up
_QUIETER = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # otherwise some output is held back and printed at the end
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # avoids an irrelevant warning
}


@dataclass(frozen=True)
class WorkerSlot:
    """The slot of a worker: the machine, the index on it, and the number of workers that died in it before.

    The last distinguishes a new worker from its predecessor, whose errors may still arrive.
    """

    node: str
    number: int
    turn: int = 0


class RayCluster:
    """A Ray cluster; without an address, the one on this machine, which is started if none is running.

    ``per_machine`` limits the workers per machine, and ``per_gpu`` of them share a GPU; each loads its own copy of the
    model.
    """

    def __init__(self, address: str | None = None, *, per_machine: int | None = None, per_gpu: int = 1) -> None:
        self.address = address
        self.per_machine = per_machine
        self.per_gpu = per_gpu

    @contextmanager
    def pool(self, make: Callable[[], Any], *, gpus: bool, on_ready: Callable[[Any], None]) -> Iterator[RayWorkerPool]:
        """Start workers, created by ``make``, on every machine.

        ``on_ready`` is called with the result of each worker's `hello` method when it is ready.
        """
        with connected(self.address):
            per_gpu = self.per_gpu if gpus else 0
            pool = RayWorkerPool(make, per_gpu=per_gpu, per_machine=self.per_machine, on_ready=on_ready)
            pool.check_room()
            try:
                yield pool
            finally:
                pool.stop()


class RayWorkerPool(WorkerPool[WorkerSlot]):
    """Workers as Ray actors. One CPU of every machine is left free for reading images.

    ``per_gpu`` is the number of workers that share a GPU; 0 if they need none.
    """

    def __init__(
        self, make: Callable[[], Any], *, per_gpu: int, per_machine: int | None, on_ready: Callable[[Any], None]
    ) -> None:
        self._make = make
        self._per_gpu = per_gpu
        self._per_machine = per_machine
        self._on_ready = on_ready
        self._actors: dict[WorkerSlot, Any] = {}
        self._starting: dict[Any, WorkerSlot] = {}
        self._infos: dict[WorkerSlot, Any] = {}
        self._deaths = Counter[tuple[str, int]]()
        self._looked = 0.0
        self._last_seen = time.monotonic()

    def check_room(self) -> None:
        """Raise if no machine has enough CPUs or GPUs for a worker, instead of waiting forever."""
        import ray

        if self._slots():
            return
        required = "a GPU and two CPUs" if self._per_gpu else "two CPUs"
        resources = ", ".join(
            f"{node['NodeManagerAddress']}: {_count(node, 'CPU')} CPUs, {_count(node, 'GPU')} GPUs"
            for node in ray.nodes()
            if node["Alive"]
        )
        raise ExecutorError(
            f"no machine of the cluster has {required}, one CPU for a worker and one for reading images "
            f"({resources}): start it with more, e.g. ray start --num-cpus"
        )

    @property
    def lost(self) -> int:
        """The number of workers that have died."""
        return self._deaths.total()

    def worker_info(self, slot: WorkerSlot) -> Any:
        """The result of a worker's `hello` method."""
        return self._infos[slot]

    def workers(self) -> list[WorkerSlot]:
        """The workers that are ready; starts workers in empty slots."""
        if time.monotonic() - self._looked > 5 * _POLL or not self._actors:
            self._fill_slots()
        self._collect_ready()
        if self._infos:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > _TIMEOUT:
            raise ExecutorError(
                f"no worker was ready within {_TIMEOUT:.0f} s: the cluster is busy, or its machines are gone"
            )
        return list(self._infos)

    def first(self) -> WorkerSlot:
        """Wait for a worker that is ready."""
        while not (ready := self.workers()):
            self.wait(self._starting)
        return ready[0]

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the first worker that is ready; if it is lost, another one is called."""
        while True:
            slot = self.first()
            try:
                return self.result(self.submit(slot, method, *arguments))
            except WorkerLost as error:
                self.lose(slot, str(error))

    def submit(self, worker: WorkerSlot, method: str, *arguments: Any) -> Any:
        """Call a method of a worker; returns a Ray object reference."""
        return self._actors[worker].call.remote(method, *arguments)

    def wait(self, pending: Iterable[Any]) -> list[Any]:
        """The references that are ready, after at most a second."""
        import ray

        refs = list(pending)
        if not refs:
            time.sleep(_POLL / 10)
            return []
        return list(ray.wait(refs, num_returns=len(refs), timeout=0)[0] or ray.wait(refs, timeout=_POLL)[0])

    def result(self, finished: Any) -> Any:
        """The result of a finished call; raises what the worker raised, or `WorkerLost`."""
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
            raise WorkerLost(first_line(error)) from None

    def lose(self, worker: WorkerSlot, why: str) -> None:
        """Remove a lost worker; its slot is filled once more if its machine is alive. Raises if no slot is left."""
        if worker in self._actors:
            self._deaths[worker.node, worker.number] += 1
            self._stop(worker)
            self._looked = 0.0
        if not self._actors and not self._slots():
            raise ExecutorError(f"all workers are lost, the last one: {why}")

    def stop(self) -> None:
        """Stop all workers."""
        for slot in list(self._actors):
            self._stop(slot)

    def _stop(self, slot: WorkerSlot) -> None:
        import ray

        self._infos.pop(slot, None)
        ray.kill(self._actors.pop(slot))

    def _fill_slots(self) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._looked = time.monotonic()
        for slot in self._slots():
            if slot not in self._actors:
                actor = ray.remote(_Actor).options(
                    num_cpus=1,
                    num_gpus=1 / self._per_gpu if self._per_gpu else 0,
                    max_concurrency=AHEAD,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(slot.node, soft=False),
                )
                self._actors[slot] = actor.remote(self._make)
                self._starting[self.submit(slot, "hello")] = slot

    def _collect_ready(self) -> None:
        """Collect the results of `hello` of workers that have become ready."""
        import ray

        if not self._starting:
            return
        for ref in ray.wait(list(self._starting), num_returns=len(self._starting), timeout=0)[0]:
            slot = self._starting.pop(ref)
            try:
                info = self.result(ref)
            except WorkerLost as error:
                self.lose(slot, str(error))
                continue
            self._on_ready(info)
            if slot in self._actors:
                self._infos[slot] = info

    def _slots(self) -> list[WorkerSlot]:
        """All slots for workers: one per CPU or share of a GPU; one CPU of every machine is left for reading images."""
        import ray

        slots = []
        for node in ray.nodes():
            if node["Alive"]:
                free = _count(node, "CPU") - 1
                number = min(free, self._per_gpu * _count(node, "GPU")) if self._per_gpu else free
                most = number if self._per_machine is None else min(number, self._per_machine)
                slots += [
                    WorkerSlot(node["NodeID"], index, self._deaths[node["NodeID"], index]) for index in range(most)
                ]
        return [slot for slot in slots if slot.turn < _MAX_DEATHS]


class _Actor:
    """A Ray actor that creates its worker on the first call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._worker: Any = None

    def call(self, method: str, *arguments: Any) -> Any:
        if self._worker is None:
            self._worker = self._make()
        return getattr(self._worker, method)(*arguments)


def _count(node: Mapping[str, Any], resource: str) -> int:
    return int(node["Resources"].get(resource, 0))


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster; errors are one line, and Ray's own output is suppressed."""
    for name, value in _QUIETER.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("work on a cluster", "ray") from error

    if ray.is_initialized():
        yield
        return
    if address:
        _check_reachable(address)
    with _without_output_of_ray():
        try:
            options = _options_for_new_cluster(address)
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
        except Exception as error:  # ray raises many types of errors
            raise ExecutorError(
                f"the Ray cluster {f'at {address} ' if address else ''}cannot be joined: {first_line(error)}; if it "
                "requires a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH as on its machines"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _without_output_of_ray() -> Iterator[None]:
    """Suppress the pages of logs that Ray's threads print when a machine is lost."""
    usual = sys.stdout
    sys.stdout = cast("TextIO", _Filtered(usual))
    try:
        yield
    finally:
        sys.stdout = usual


class _Filtered:
    """A stream that drops what threads of Ray write and forwards everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray_") else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _check_reachable(address: str) -> None:
    """Raise at once if nothing answers at an address; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"there is no Ray cluster at {address}: {first_line(error)}") from None


def _options_for_new_cluster(address: str | None) -> dict[str, Any]:
    return {} if address or "RAY_ADDRESS" in os.environ else {"include_dashboard": False}


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
