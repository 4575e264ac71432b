"""The work on the grids of a build in the browser: who may answer, which task comes next, and what answers lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from regrade.build.files import AnswerCollection, BuildTasks, TaskCollection
from regrade.build.grid_files import GridSettings, SettingsCollection
from regrade.build.standing import (
    STOPPED,
    ControlCount,
    WorkerStanding,
    WorkerState,
    count_controls,
    gate_event,
    has_passed,
    standing_of,
    wrong_controls,
)
from regrade.build.tasks import GridTask
from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.core.panel import Mode, WorkerEvent
from regrade.store import Store

if TYPE_CHECKING:
    from regrade.ledger import GridSelection, Item, Ledger, LoggedWorkerEvent, Person, Queue


def tasks_queue_name(build: str) -> str:
    """The name of the queue with the tasks of a build."""
    return f"{build} tasks"


def qualification_queue_name(build: str) -> str:
    """The name of the queue with the qualification tasks of a build."""
    return f"{build} qualification"


class Step(StrEnum):
    """What a worker does next, or why there is nothing to do."""

    CONSENT = "consent"
    QUALIFICATION = "qualification"
    TASK = "task"
    RETURNED = "returned"
    """Only tasks are left that the worker has returned."""
    DONE = "done"
    HELD = "held"
    """Only tasks are left that are held back from the worker."""
    LIMIT = "limit"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    FAILED = "failed"


@dataclass(frozen=True)
class NextStep:
    """The next step of a worker, with the item and the task if it is one."""

    step: Step
    standing: WorkerStanding
    done: int
    item: Item | None = None
    task: GridTask | None = None


@dataclass(frozen=True)
class QualificationResult:
    """The feedback to a qualification task: the tiles that were answered wrongly, and whether the attempt is over.

    ``passed`` is None while further tasks of the attempt follow; ``tries_left`` counts further attempts.
    """

    wrong: tuple[int, ...]
    controls: int
    passed: bool | None
    tries_left: int


@dataclass(frozen=True)
class SelectionOutcome:
    """What an answer led to: the feedback if it was a qualification task, and the event of the gate, if any."""

    vote: int
    feedback: QualificationResult | None
    event: LoggedWorkerEvent | None


class GridWork:
    """The grids of one build in a ledger."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        stored: BuildTasks,
        settings: GridSettings,
        *,
        queue: Queue,
        qualification: Queue | None,
    ) -> None:
        self.store = store
        self.ledger = ledger
        self.stored = stored
        self.settings = settings
        self.queue = queue
        self.qualification = qualification

    @classmethod
    def load(cls, store: Store, ledger: Ledger, build: str) -> GridWork:
        """The grids of a build; raises if they were not opened."""
        stored, settings = TaskCollection(store.root).read(build), SettingsCollection(store.root).newest(build)
        queues = {queue.name: queue for queue in ledger.queues.all() if queue.build == build}
        queue = queues.get(tasks_queue_name(build))
        if settings is None or queue is None:
            raise InputError(f"the grids of {build} are not open: run regrade build open {build}")
        qualification = queues.get(qualification_queue_name(build))
        return cls(store, ledger, stored, settings, queue=queue, qualification=qualification)

    @cached_property
    def tasks(self) -> dict[str, GridTask]:
        """All tasks by id, with those of the qualification."""
        return {task.id: task for task in (*self.settings.tasks, *self.stored.tasks)}

    @cached_property
    def items(self) -> dict[int, Item]:
        """The items of both queues by id; tasks that are added later are not among them."""
        queues = [queue for queue in (self.queue, self.qualification) if queue is not None]
        items = (item for queue in queues for item in self.ledger.selections.tasks(queue))
        return {item.id: item for item in items if item.example in self.tasks}

    def task_of(self, item_id: int) -> GridTask:
        """The task of an item."""
        if item_id not in self.items:
            raise UnknownName("task", str(item_id), None)
        return self.tasks[self.items[item_id].example]

    # Workers

    def standing(self, worker: Person) -> WorkerStanding:
        """The standing of a worker."""
        return standing_of(self.ledger.workers.events(self.queue, worker))

    def standings(self) -> dict[str, WorkerStanding]:
        """The standing of everyone with an event, by name."""
        by_worker: dict[str, list[LoggedWorkerEvent]] = {}
        for event in self.ledger.workers.events(self.queue):
            by_worker.setdefault(event.worker, []).append(event)
        return {worker: standing_of(events) for worker, events in by_worker.items()}

    def consent(self, worker: Person) -> None:
        """Log that a worker has agreed to the text of the build; idempotent."""
        standing = self.standing(worker)
        if self._lacks_consent(standing):
            digest = self.settings.consent_digest
            self.ledger.workers.log_after(standing.last_id, self.queue, worker, WorkerEvent.CONSENTED, reason=digest)

    def next_step(self, worker: Person, *, give: Callable[[Queue, Person], Item | None] | None = None) -> NextStep:
        """What a worker does next; a task is reserved for them, by ``give`` (default: the next task of the ledger)."""
        step = self.step_without_task(worker)
        if step.step is not Step.TASK:
            return step
        given = (give or self.ledger.items.next)(self.queue, worker)
        if given is not None:
            self.items.setdefault(given.id, given)
            return replace(step, item=given, task=self.tasks[given.example])
        returned = self.ledger.items.count_skipped(self.queue, worker)
        return replace(step, step=Step.RETURNED if returned else Step.DONE)

    def step_without_task(self, worker: Person) -> NextStep:
        """The next step of a worker, without looking whether a task is left."""
        standing, own = self.standing(worker), self._answers(worker)
        if standing.state not in STOPPED and not self._lacks_consent(standing):
            standing = self._settled(worker, standing, own)
        done = sum(answer.item_id in self.items and self._is_real(answer.item_id) for answer in own.values())
        if standing.state in STOPPED:
            return NextStep(Step(standing.state.value), standing, done)
        if self._lacks_consent(standing):
            return NextStep(Step.CONSENT, standing, done)
        if (item := self._qualification_item(standing, own)) is not None:
            return NextStep(Step.QUALIFICATION, standing, done, item, self.tasks[item.example])
        limit = self.settings.options.per_worker
        if limit is not None and done >= limit:
            return NextStep(Step.LIMIT, standing, done)
        return NextStep(Step.TASK, standing, done)

    def submit(self, worker: Person, item_id: int, *, key: str, answer: str, seconds: float | None) -> SelectionOutcome:
        """Store an answer, and let the gate decide; the same key again returns the same outcome.

        Raises if the task was answered before, was not given to the worker, or if the worker may not answer.
        """
        from regrade.ledger import GridSelection, VoteContent

        task, content = self.task_of(item_id), VoteContent(key, answer, seconds=seconds)
        wrong_controls(task, answer)  # raises for another number of tiles
        standing, own = self.standing(worker), self._answers(worker)
        try:
            self._check_may_answer(worker, standing, own, item_id)
        except (InputError, AlreadyStored):
            if not self.ledger.votes.has_key(key):  # stored by this request before, perhaps a moment ago
                raise
        vote = self.ledger.votes.cast(item_id, worker, content).vote
        own[task.id] = GridSelection(vote.id, item_id, task.id, worker.name, answer, seconds, vote.at)
        after = self._settled(worker, standing, own) if standing.state not in STOPPED else standing
        event = after.last if after.last_id > standing.last_id else None
        return SelectionOutcome(vote.id, self._feedback(task, answer, own, after), event)

    def give_back(self, worker: Person, item_id: int) -> None:
        """Return a task: others may get it, and the worker only once nothing else is left."""
        self.task_of(item_id)
        if not self._is_real(item_id):
            raise InputError("a qualification task cannot be returned")
        if not self.ledger.selections.is_given(item_id, worker):
            raise InputError("this task was not given to you, or you have answered or returned it")
        self.ledger.items.skip(item_id, worker)

    def decide(self, worker: Person, event: WorkerEvent, *, by: Person | None, reason: str) -> None:
        """Pause, exclude or reinstate a worker for a reason."""
        if not reason.strip():
            raise InputError(f"give a reason: why is {worker.name} {event.value}?")
        state = self.standing(worker).state
        if event is WorkerEvent.REINSTATED and state not in (*STOPPED, WorkerState.WARNED):
            raise InputError(f"{worker.name} is not paused or excluded")
        if state.value == event.value:
            raise AlreadyStored(f"{worker.name} is {event.value} already")
        self.ledger.workers.log(self.queue, worker, event, by=by, reason=reason)
        if WorkerState.EXCLUDED in (state, event.value):
            self.update_needed()

    def excluded(self) -> dict[str, str]:
        """The workers who are excluded now, with the reasons."""
        return {
            worker: standing.last.reason
            for worker, standing in self.standings().items()
            if standing.state is WorkerState.EXCLUDED and standing.last is not None
        }

    def update_needed(self) -> int:
        """Set how many answers each task needs, and return how many tasks changed.

        Answers of excluded workers do not count, so that others are asked; answers from outside platforms count.
        """
        excluded = self.excluded()
        rows = [(answer.task, answer.worker) for answer in self.ledger.selections.since(self.queue, 0)]
        without = Counter(task for task, worker in rows if worker in excluded)
        inside = set(rows)
        outside = Counter(
            answer.task
            for answer in AnswerCollection(self.store.root).read(self.stored.build)
            if (answer.task, answer.worker) not in inside and answer.worker not in excluded
        )
        overlap = self.ledger.queues.named(self.queue.name).overlap
        needed = {
            item.id: max(overlap + without[item.example] - outside[item.example], 0)
            for item in self.ledger.selections.tasks(self.queue)
        }
        return self.ledger.selections.require(self.queue, needed)

    # Steps

    def _answers(self, worker: Person) -> dict[str, GridSelection]:
        """A worker's answers by task, oldest first."""
        queues = [queue for queue in (self.queue, self.qualification) if queue is not None]
        return {answer.task: answer for answer in self.ledger.selections.of_worker(queues, worker)}

    def _is_real(self, item_id: int) -> bool:
        """Whether an item is a task of the build, not of the qualification."""
        return self.items[item_id].queue_id == self.queue.id

    def _lacks_consent(self, standing: WorkerStanding) -> bool:
        return bool(self.settings.options.consent) and self.settings.consent_digest not in standing.consents

    def _attempts(self) -> range:
        options = self.settings.options
        return range(options.tries if options.qualification else 0)

    def _qualification_item(self, standing: WorkerStanding, own: dict[str, GridSelection]) -> Item | None:
        """The next qualification task of a worker, or None if there is none to do."""
        if standing.qualified or not self._attempts():
            return None
        open_tasks = [task.id for task in self.settings.tasks if task.id not in own]
        return (
            next((item for item in self.items.values() if item.example == open_tasks[0]), None) if open_tasks else None
        )

    def _settled(self, worker: Person, standing: WorkerStanding, own: dict[str, GridSelection]) -> WorkerStanding:
        """Log the event that follows from a worker's answers, if it is not logged yet, and return the new standing."""
        due = self._due_event(standing, own)
        if due is None:
            return standing
        event, reason = due
        self.ledger.workers.log_after(standing.last_id, self.queue, worker, event, reason=reason)
        if event is WorkerEvent.EXCLUDED:
            self.update_needed()
        return self.standing(worker)

    def _due_event(self, standing: WorkerStanding, own: dict[str, GridSelection]) -> tuple[WorkerEvent, str] | None:
        if self._attempts() and not standing.qualified:
            return self._qualification_event(own)
        counts = sum(
            (
                count_controls(self.tasks[answer.task], answer.answer)
                for answer in own.values()
                if self._is_counted(answer, standing)
            ),
            ControlCount(),
        )
        event = gate_event(counts, self.settings.options, standing.state)
        return None if event is None else (event, f"{counts.right} of {counts.controls} controls right")

    def _is_counted(self, answer: GridSelection, standing: WorkerStanding) -> bool:
        """Whether the gate counts an answer: to a real task, after the last reinstatement."""
        is_real = answer.item_id in self.items and self._is_real(answer.item_id)
        return is_real and (standing.since is None or answer.at > standing.since)

    def _qualification_event(self, own: dict[str, GridSelection]) -> tuple[WorkerEvent, str] | None:
        options, results = self.settings.options, []
        for number in self._attempts():
            passed = has_passed(self.settings.attempt(number), own, options)
            if passed:
                return WorkerEvent.QUALIFIED, f"attempt {number + 1} of {options.tries}"
            results.append(passed)
        if all(result is False for result in results):
            return WorkerEvent.FAILED, f"{options.tries} of {options.tries} attempts below the accuracy to pass"
        return None

    def _check_may_answer(
        self, worker: Person, standing: WorkerStanding, own: dict[str, GridSelection], item_id: int
    ) -> None:
        if standing.state in (WorkerState.EXCLUDED, WorkerState.FAILED):
            raise InputError("your work on these tasks has ended, so this answer was not stored")
        if self._lacks_consent(standing):
            raise InputError("agree to the conditions of this work first")
        if self.items[item_id].example in own:
            raise AlreadyStored("you have answered this before, and answers are not changed")
        if self._is_real(item_id):
            if not self.ledger.selections.is_given(item_id, worker):
                raise InputError("this task was returned, or was not given to you")
        elif (open_item := self._qualification_item(standing, own)) is None or open_item.id != item_id:
            raise InputError("this qualification task was not given to you")

    def _feedback(
        self, task: GridTask, answer: str, own: dict[str, GridSelection], standing: WorkerStanding
    ) -> QualificationResult | None:
        if task.id not in {own_task.id for own_task in self.settings.tasks}:
            return None
        size = max(self.settings.options.qualification, 1)
        number = [own_task.id for own_task in self.settings.tasks].index(task.id) // size
        passed = has_passed(self.settings.attempt(number), own, self.settings.options)
        left = 0 if standing.qualified else self.settings.options.tries - number - 1
        return QualificationResult(tuple(wrong_controls(task, answer)), len(task.tiles), passed, max(left, 0))


def is_qualification(queue: Queue) -> bool:
    """Whether a queue has qualification tasks, which workers reach through the page of the real tasks."""
    return queue.question.name == "select" and queue.mode is Mode.TRAINING
