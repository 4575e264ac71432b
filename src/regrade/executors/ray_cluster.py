"""A Ray cluster: one worker a GPU, or a CPU, on every machine of it."""

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
from regrade.executors.pool import AHEAD, Crew, Lost

_QUIETER = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # else some of it is kept back, and printed at the end
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of what does not matter here
}
_DEATHS = 2  # on one seat before it stays empty
_MOMENT = 1.0  # seconds to wait for an answer before looking for new machines
_PATIENCE = 120.0  # seconds without any worker before the run is given up


@dataclass(frozen=True)
class Seat:
    """One worker's place: on which machine, and the how-manieth there."""

    node: str
    number: int


class RayCluster:
    """A connection to a cluster; without an address to one that runs here, or else to one started for the purpose.

    ``per_machine`` is how many workers a machine takes at most; each holds the model in memory once.
    """

    def __init__(self, address: str | None = None, *, per_machine: int | None = None) -> None:
        self.address = address
        self.per_machine = per_machine

    @contextmanager
    def crew(self, make: Callable[[], Any], *, gpus: bool, said: Callable[[Any], None]) -> Iterator[RayCrew]:
        """Workers made by ``make`` on every machine; ``said`` is told what each says of itself (`hello`) first."""
        with _connected(self.address):
            crew = RayCrew(make, gpus=gpus, per_machine=self.per_machine, said=said)
            crew.check_room()
            try:
                yield crew
            finally:
                crew.dismiss()


class RayCrew(Crew[Seat]):
    """Workers as Ray actors. Every machine keeps one CPU free of them, for reading."""

    def __init__(
        self, make: Callable[[], Any], *, gpus: bool, per_machine: int | None, said: Callable[[Any], None]
    ) -> None:
        self._make = make
        self._gpus = gpus
        self._per_machine = per_machine
        self._said = said
        self._hired: dict[Seat, Any] = {}
        self._greetings: dict[Any, Seat] = {}
        self._greeted: dict[Seat, Any] = {}
        self._deaths = Counter[Seat]()
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

    def said(self, seat: Seat) -> Any:
        """What a worker says of itself."""
        return self._greeted[seat]

    def workers(self) -> list[Seat]:
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

    def first(self) -> Seat:
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

    def submit(self, worker: Seat, method: str, *arguments: Any) -> Any:
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
            raise ExecutorError(f"a worker failed: {type(cause).__name__}: {_first_line(cause)}") from error
        except RayError as error:
            raise Lost(_first_line(error)) from None

    def lose(self, worker: Seat, why: str) -> None:
        """Forget a worker, and fill its seat again, once, if its machine is still there; none left raises."""
        if worker in self._hired:
            self._deaths[worker] += 1
            self._dismiss(worker)
            self._looked = 0.0
        if not self._hired and not self._seats():
            raise ExecutorError(f"all workers are lost, the last one: {why}")

    def dismiss(self) -> None:
        """End all workers."""
        for seat in list(self._hired):
            self._dismiss(seat)

    def _dismiss(self, seat: Seat) -> None:
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

    def _seats(self) -> list[Seat]:
        """All places for workers: a GPU each, or a CPU each, and one CPU of every machine left for reading."""
        import ray

        seats = []
        for node in ray.nodes():
            if node["Alive"]:
                free = _count(node, "CPU") - 1
                number = min(free, _count(node, "GPU")) if self._gpus else free
                most = number if self._per_machine is None else min(number, self._per_machine)
                seats += [Seat(node["NodeID"], place) for place in range(most)]
        return [seat for seat in seats if self._deaths[seat] < _DEATHS]


class _Actor:
    """What runs on a machine of the cluster: a worker, made when it is first asked."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._worker: Any = None

    def ask(self, method: str, *arguments: Any) -> Any:
        if self._worker is None:
            self._worker = self._make()
        return getattr(self._worker, method)(*arguments)


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
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
    with _without_rays_own_words():
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **_for_a_new_one(address))
        except Exception as error:  # ray raises what its parts raise
            raise ExecutorError(
                f"the Ray cluster {f'at {address} ' if address else ''}cannot be entered: {_first_line(error)}; if it "
                "asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH as on its machines"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _without_rays_own_words() -> Iterator[None]:
    """Keep what Ray's own threads print on a lost machine, pages of its logs, out of the output."""
    usual = sys.stdout
    sys.stdout = cast("TextIO", _Filtered(usual))
    try:
        yield
    finally:
        sys.stdout = usual


class _Filtered:
    """A stream that drops what threads of Ray write, and is otherwise the stream below it."""

    def __init__(self, below: TextIO) -> None:
        self._below = below

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray_") else self._below.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


def _check_reachable(address: str) -> None:
    """Raise at once where nothing answers at an address; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"there is no Ray cluster at {address}: {_first_line(error)}") from None


def _for_a_new_one(address: str | None) -> dict[str, Any]:
    return {} if address or "RAY_ADDRESS" in os.environ else {"include_dashboard": False}


def _count(node: Mapping[str, Any], resource: str) -> int:
    return int(node["Resources"].get(resource, 0))


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
