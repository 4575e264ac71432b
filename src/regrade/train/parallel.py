"""Train the members of an ensemble: one after another, in processes on a CPU, or next to each other on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from regrade.core import RegradeError
from regrade.core.cores import usable_cores
from regrade.executors.processes import ProcessPerThread
from regrade.models import Device
from regrade.models.failures import loading
from regrade.store import Store
from regrade.train.images import ImageTensors
from regrade.train.member import EpochReport, MemberTraining
from regrade.train.plan import TrainingPlan
from regrade.train.training_data import TrainingData

EpochProgress = Callable[[TrainingPlan, EpochReport], object]
"""Called after every epoch of every member, possibly in another thread."""


def no_epoch_progress(plan: TrainingPlan, report: EpochReport) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class MemberStep:
    """New reports of a member, and whether it has no epochs left."""

    reports: tuple[EpochReport, ...]
    is_done: bool


@dataclass
class MemberWorker:
    """Trains members epoch by epoch; in another process it keeps their state between calls.

    The first call for a seed opens its member and returns the reports of an earlier run, each further call trains an
    epoch. An expected error is returned, since the process is needed for the next seed.
    """

    root: Path
    plan: TrainingPlan
    data: TrainingData = field(repr=False)
    device: Device = Device.CPU
    threads: int | None = None
    _members: dict[int, MemberTraining] = field(default_factory=dict, repr=False)
    _tensors: dict[str, dict[str, ImageTensors]] = field(default_factory=dict, repr=False)

    def __call__(self, seed: int) -> MemberStep | RegradeError:
        """Open the member of a seed, or train its next epoch."""
        try:
            with loading(f"seed {seed} of {self.plan.name} cannot be trained"):
                return self._step(seed)
        except RegradeError as error:
            self.close(seed)
            return error

    def _step(self, seed: int) -> MemberStep:
        member = self._members.get(seed)
        if member is None:
            member = self._members[seed] = self._opened(seed)
            reports = tuple(member.curve)
        else:
            reports = (member.train_epoch(),)
        if member.is_done:
            self.close(seed)
        return MemberStep(reports, member.is_done)

    def _opened(self, seed: int) -> MemberTraining:
        import torch

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        place = self.place(seed)
        if place not in self._tensors:
            self._tensors[place] = {
                name: ImageTensors.of(images.pixels, images.labels, self.data.preprocessing).to(place)
                for name, images in self.data.sets.items()
            }
        training_set, tensors = self.data.training_set, self._tensors[place]
        if self.plan.added is not None and self.plan.fold is not None:
            training_set, tensors = self.plan.added.with_fold(training_set, tensors, seed=seed, fold=self.plan.fold)
        return MemberTraining(Store.open(self.root), self.plan, training_set, tensors, seed)

    def place(self, seed: int) -> str:
        """The device of a member; members are spread over all GPUs."""
        import torch

        return f"cuda:{seed % torch.cuda.device_count()}" if self.device is Device.CUDA else self.device.value

    def is_warm(self, seed: int) -> bool:
        """Whether the member of a seed can be trained next to others; also if it is done."""
        return seed not in self._members or self._members[seed].is_warm

    def close(self, seed: int) -> None:
        """Release the member of a seed."""
        member = self._members.pop(seed, None)
        if member is not None:
            member.close()


@dataclass(frozen=True)
class TrainedCurves:
    """The reports of all epochs by seed, and how many epochs were trained in this run."""

    curves: dict[int, tuple[EpochReport, ...]]
    new_epochs: int


def default_jobs(device: Device, members: int) -> int:
    """All members at once on a GPU; on a CPU one process per core, since small networks do not use several well."""
    return members if device is Device.CUDA else min(members, usable_cores())


def train_members(
    worker: MemberWorker, seeds: Sequence[int], *, jobs: int, progress: EpochProgress = no_epoch_progress
) -> TrainedCurves:
    """Train all members to the end, ``jobs`` at a time, and return their reports by seed.

    If one fails, the others stop after their present epoch, and the error is raised; all can be resumed.
    """
    run = _Run(worker, progress)
    try:
        if worker.device is Device.CUDA:
            run.on_gpu(seeds, jobs)
        elif jobs == 1:
            for seed in seeds:
                run.finish(seed, worker)
        else:
            run.in_processes(seeds, jobs)
    finally:
        run.stop.set()
        for seed in seeds:
            worker.close(seed)
    return TrainedCurves({seed: tuple(run.reports[seed]) for seed in seeds}, run.new_epochs)


@dataclass
class _Run:
    worker: MemberWorker
    progress: EpochProgress
    reports: dict[int, list[EpochReport]] = field(default_factory=dict)
    new_epochs: int = 0
    stop: Event = field(default_factory=Event)

    def step(self, seed: int, call: Callable[[int], Any]) -> bool:
        """Advance a member, and return whether it has epochs left."""
        outcome = call(seed)
        if isinstance(outcome, RegradeError):
            self.stop.set()
            raise outcome
        self.new_epochs += seed in self.reports  # the first call returns the epochs of earlier runs
        self.reports.setdefault(seed, []).extend(outcome.reports)
        self.progress(self.worker.plan, outcome.reports[-1])
        return not outcome.is_done

    def finish(self, seed: int, call: Callable[[int], Any]) -> None:
        """Train a member to the end, unless another one fails."""
        while not self.stop.is_set() and self.step(seed, call):
            pass

    def in_processes(self, seeds: Sequence[int], jobs: int) -> None:
        """Train on a CPU, each member in a process with its share of the cores."""
        self.worker.threads = self.worker.threads or max(usable_cores() // jobs, 1)
        with ProcessPerThread(self.worker) as call:
            self.in_threads(seeds, jobs, lambda seed: self.finish(seed, call))

    def on_gpu(self, seeds: Sequence[int], jobs: int) -> None:
        """Train next to each other on a GPU, each member on a stream of its own.

        The first steps of all members come first: a CUDA graph must not be captured while another member runs.
        """
        for start in range(0, len(seeds), jobs):
            group = seeds[start : start + jobs]
            unfinished = [seed for seed in group if self._warm_up(seed)]
            self.in_threads(unfinished, jobs, self._finish_on_stream)

    def _warm_up(self, seed: int) -> bool:
        import torch

        has_more = self.step(seed, self.worker)
        while has_more and not self.worker.is_warm(seed):
            has_more = self.step(seed, self.worker)
        torch.cuda.synchronize(self.worker.place(seed))  # its next steps are on another stream
        return has_more

    def _finish_on_stream(self, seed: int) -> None:
        import torch

        with torch.cuda.device(self.worker.place(seed)), torch.cuda.stream(torch.cuda.Stream()):
            self.finish(seed, self.worker)

    def in_threads(self, seeds: Sequence[int], jobs: int, work: Callable[[int], None]) -> None:
        """Run the work for all seeds; the first error is raised once all threads have ended."""
        if not seeds:
            return
        with ThreadPoolExecutor(min(jobs, len(seeds)), thread_name_prefix="train") as pool:
            futures = [pool.submit(work, seed) for seed in seeds]
            try:
                for future in futures:
                    future.result()
            except BaseException:  # Control-C too: the threads end after their present epoch
                self.stop.set()
                raise
