"""The progress of a build's grids: tasks, workers with their answers to controls, speed, agreement, slow classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from regrade.build.datasheet import answers_by_image
from regrade.build.frequencies import TileAnswers, entry_numbers
from regrade.build.grid_work import GridWork
from regrade.build.standing import WorkerStanding, WorkerState
from regrade.build.tasks import TileRole
from regrade.core import Estimate, MismatchError, UndefinedError
from regrade.core.arrays import IntArray
from regrade.stats import krippendorff_alpha, proportion

if TYPE_CHECKING:
    from regrade.ledger import GridSelection, Item

_RECENT = timedelta(hours=1)
_REREAD = 64  # votes that are read again: PostgreSQL may commit votes in another order than that of their ids


@dataclass(frozen=True)
class WorkerProgress:
    """One worker: answered tasks, median seconds, accuracy on controls, and standing."""

    worker: str
    tasks: int
    seconds: float | None
    control_accuracy: Estimate | None
    standing: WorkerStanding


@dataclass(frozen=True)
class ClassTasks:
    """One class: its tasks, those with all answers, the answers that are missing, and how often tasks were returned."""

    class_id: str
    tasks: int
    complete: int
    missing: int
    returned: int


@dataclass(frozen=True)
class GridProgress:
    """How far the grids of a build are.

    ``per_hour`` is the number of answers in the last hour, or the rate since the first answer if that is less ago.
    ``outside`` is the number of answers that were imported from other platforms.
    """

    tasks: int
    complete: int
    answers: int
    missing: int
    outside: int
    per_hour: float
    workers: tuple[WorkerProgress, ...]
    classes: tuple[ClassTasks, ...]
    agreement: Estimate | None

    @property
    def hours_left(self) -> float | None:
        """The expected hours until all answers are in; None if no one is answering."""
        return self.missing / self.per_hour if self.per_hour else None

    @property
    def lagging(self) -> tuple[ClassTasks, ...]:
        """The classes with missing answers, most per task first."""
        open_classes = [row for row in self.classes if row.missing]
        return tuple(sorted(open_classes, key=lambda row: (-row.missing / row.tasks, row.class_id)))


class AnswerLog:
    """The answers to the tasks of a build, read once and then extended by new ones."""

    def __init__(self, work: GridWork) -> None:
        self._work = work
        self._by_id: dict[int, GridSelection] = {}

    @cached_property
    def index(self) -> TaskIndex:
        """The entries of all tasks."""
        return TaskIndex(self._work)

    def refresh(self) -> Sequence[GridSelection]:
        """All answers so far, oldest first."""
        newest = max(self._by_id, default=0)
        for answer in self._work.ledger.selections.since(self._work.queue, max(newest - _REREAD, 0)):
            self._by_id.setdefault(answer.id, answer)
        return list(self._by_id.values())


def grid_progress(
    work: GridWork, log: AnswerLog, *, outside: int = 0, now: datetime, agreement: Estimate | None = None
) -> GridProgress:
    """Count everything; ``outside`` is the number of answers from other platforms."""
    answers = log.refresh()
    items, standings = work.ledger.selections.tasks(work.queue), work.standings()
    missing = [max(item.missing, 0) for item in items]
    return GridProgress(
        len(items),
        sum(count == 0 for count in missing),
        len(answers),
        sum(missing),
        outside,
        _per_hour([answer.at for answer in answers], now),
        _workers(answers, log.index.answers(answers), standings),
        _classes(items, work.ledger.selections.returned(work.queue)),
        agreement,
    )


def candidate_agreement(work: GridWork, log: AnswerLog) -> Estimate | None:
    """Krippendorff's alpha of the answers to candidates, without excluded workers; None if it is undefined."""
    standings = work.standings()
    left_out = [name for name, standing in standings.items() if standing.state is WorkerState.EXCLUDED]
    try:
        return krippendorff_alpha(answers_by_image(log.index.answers(log.refresh()), left_out))
    except UndefinedError:
        return None


class TaskIndex:
    """The entries of all tasks as arrays, to turn digit strings into answers without a loop over tiles."""

    def __init__(self, work: GridWork) -> None:
        self.entries: dict[tuple[str, str], int] = {}
        self.roles: list[TileRole] = []
        self.numbers = {task.id: entry_numbers(task, self.entries, self.roles) for task in work.stored.tasks}

    def answers(self, answers: Sequence[GridSelection]) -> TileAnswers:
        """The answers as arrays."""
        workers = {name: number for number, name in enumerate(dict.fromkeys(answer.worker for answer in answers))}
        entry = [self.numbers[answer.task] for answer in answers]
        sizes = [len(numbers) for numbers in entry]
        for answer, size in zip(answers, sizes, strict=True):
            if len(answer.answer) != size:
                raise MismatchError(f"an answer to task {answer.task} is about {len(answer.answer)} of {size} tiles")
        digits = np.frombuffer("".join(answer.answer for answer in answers).encode(), dtype=np.uint8)
        worker_of_answer = np.array([workers[answer.worker] for answer in answers], dtype=np.int64)
        return TileAnswers(
            tuple(self.entries),
            tuple(self.roles),
            tuple(workers),
            np.concatenate([np.zeros(0, dtype=np.int64), *entry]),
            np.repeat(worker_of_answer, sizes),
            digits == ord("1"),
            np.bincount(worker_of_answer, minlength=len(workers)),
        )


def _workers(
    answers: Sequence[GridSelection], tiles: TileAnswers, standings: Mapping[str, WorkerStanding]
) -> tuple[WorkerProgress, ...]:
    """Everyone with an answer or an event, by name."""
    controls = ~tiles.of_role(TileRole.CANDIDATE)
    size = len(tiles.workers)
    shown: IntArray = np.bincount(tiles.worker[controls], minlength=size)
    right = np.bincount(tiles.worker[controls], tiles.correct_control[controls], size).astype(np.int64)
    number = {name: place for place, name in enumerate(tiles.workers)}
    seconds: dict[str, list[float]] = {}
    tasks: dict[str, int] = {}
    for answer in answers:
        tasks[answer.worker] = tasks.get(answer.worker, 0) + 1
        if answer.seconds is not None:
            seconds.setdefault(answer.worker, []).append(answer.seconds)
    rows = []
    for name in sorted({*tasks, *standings}):
        place = number.get(name)
        has_controls = place is not None and shown[place] > 0
        accuracy = proportion(int(right[place]), int(shown[place])) if has_controls else None
        median = float(np.median(seconds[name])) if name in seconds else None
        rows.append(WorkerProgress(name, tasks.get(name, 0), median, accuracy, standings.get(name, WorkerStanding())))
    return tuple(rows)


def _classes(items: Sequence[Item], returned: Mapping[int, int]) -> tuple[ClassTasks, ...]:
    counts: dict[str, list[int]] = {}
    for item in items:
        missing = max(item.missing, 0)
        row = counts.setdefault(item.class_id, [0, 0, 0, 0])
        for place, value in enumerate((1, int(missing == 0), missing, returned.get(item.id, 0))):
            row[place] += value
    return tuple(ClassTasks(class_id, *row) for class_id, row in sorted(counts.items()))


def _per_hour(times: Sequence[datetime], now: datetime) -> float:
    recent = sum(now - at <= _RECENT for at in times)
    if not recent:
        return 0.0
    elapsed = min(_RECENT, now - min(times))
    return recent * _RECENT / max(elapsed, timedelta(minutes=1))
