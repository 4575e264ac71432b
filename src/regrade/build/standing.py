"""The standing of a worker in the browser: what follows from the log of events, and from answers to controls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from regrade.build.grid_files import FEWEST_TO_WARN, GridOptions
from regrade.build.tasks import GridTask, TileRole
from regrade.build.workers import Gate, Standing
from regrade.core import MismatchError
from regrade.core.panel import WorkerEvent

if TYPE_CHECKING:
    from regrade.ledger import GridSelection, LoggedWorkerEvent

_FALSE_PAUSES = 0.05
"""The largest share of workers at or above the lowest accuracy who are ever paused."""


class WorkerState(StrEnum):
    """What a worker may do."""

    WORKING = "working"
    WARNED = "warned"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    FAILED = "failed"
    """The qualification was not passed."""


_STATES = {
    WorkerEvent.QUALIFIED: WorkerState.WORKING,
    WorkerEvent.REINSTATED: WorkerState.WORKING,
    WorkerEvent.WARNED: WorkerState.WARNED,
    WorkerEvent.PAUSED: WorkerState.PAUSED,
    WorkerEvent.EXCLUDED: WorkerState.EXCLUDED,
    WorkerEvent.FAILED: WorkerState.FAILED,
}
STOPPED = frozenset((WorkerState.PAUSED, WorkerState.EXCLUDED, WorkerState.FAILED))
"""The states in which a worker gets no tasks."""


@dataclass(frozen=True)
class WorkerStanding:
    """A worker's state; ``since`` is their last reinstatement: the gate counts only answers after it.

    ``consents`` are digests of the texts that they agreed to. ``last`` is the newest event, None before the first.
    """

    state: WorkerState = WorkerState.WORKING
    consents: frozenset[str] = frozenset()
    qualified: bool = False
    since: datetime | None = None
    last: LoggedWorkerEvent | None = None

    def in_words(self) -> str:
        """The state for a table."""
        return "not begun" if self.last is None else self.state.value

    @property
    def last_id(self) -> int:
        """The id of the newest event, 0 before the first."""
        return 0 if self.last is None else self.last.id


def standing_of(events: Iterable[LoggedWorkerEvent]) -> WorkerStanding:
    """The standing that follows from a worker's events, oldest first; who was reinstated counts as qualified."""
    standing = WorkerStanding()
    for event in events:
        reinstated = event.event is WorkerEvent.REINSTATED
        standing = WorkerStanding(
            _STATES.get(event.event, standing.state),
            standing.consents | ({event.reason} if event.event is WorkerEvent.CONSENTED else set()),
            standing.qualified or reinstated or event.event is WorkerEvent.QUALIFIED,
            event.at if reinstated else standing.since,
            event,
        )
    return standing


@dataclass(frozen=True)
class ControlCount:
    """The number of right answers to controls, and of controls."""

    right: int = 0
    controls: int = 0

    def __add__(self, more: ControlCount) -> ControlCount:
        return ControlCount(self.right + more.right, self.controls + more.controls)


def wrong_controls(task: GridTask, answer: str) -> list[int]:
    """The positions of the controls of a task that were answered wrongly."""
    if len(answer) != len(task.tiles):
        raise MismatchError(f"an answer to task {task.id} is about {len(answer)} of {len(task.tiles)} tiles")
    expected = {TileRole.POSITIVE: "1", TileRole.NEGATIVE: "0"}
    return [n for n, tile in enumerate(task.tiles) if expected.get(tile.role, answer[n]) != answer[n]]


def count_controls(task: GridTask, answer: str) -> ControlCount:
    """How a worker answered the controls of a task."""
    controls = len(task.tiles) - task.count(TileRole.CANDIDATE)
    return ControlCount(controls - len(wrong_controls(task, answer)), controls)


def gate_event(counts: ControlCount, options: GridOptions, state: WorkerState) -> WorkerEvent | None:
    """What the gate decides about a worker who is working or was warned.

    However often one looks, at most 1 % of the workers at or above the lowest accuracy are ever excluded, and 5 %
    paused. A paused worker waits for an owner, and their answers count meanwhile.
    """
    right, controls = counts.right, counts.controls
    if Gate(options.lowest).standing(right, controls) is Standing.EXCLUDED:
        return WorkerEvent.EXCLUDED
    if Gate(options.lowest, _FALSE_PAUSES).standing(right, controls) is Standing.EXCLUDED:
        return WorkerEvent.PAUSED
    is_low = controls >= FEWEST_TO_WARN and right < options.warn_below * controls
    return WorkerEvent.WARNED if is_low and state is not WorkerState.WARNED else None


def has_passed(tasks: Sequence[GridTask], answers: dict[str, GridSelection], options: GridOptions) -> bool | None:
    """Whether an attempt at the qualification was passed; None while one of its tasks is not answered."""
    if any(task.id not in answers for task in tasks):
        return None
    counts = sum((count_controls(task, answers[task.id].answer) for task in tasks), ControlCount())
    return counts.right >= options.pass_accuracy * counts.controls
