"""regrade build open: put the tasks of a build into the browser app, with a qualification and a gate for workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from regrade.build.files import AnswerCollection, BuildTasks, TaskCollection
from regrade.build.grid_files import GridOptions, GridSettings, SettingsCollection
from regrade.build.grid_work import GridWork, qualification_queue_name, tasks_queue_name
from regrade.build.qualification import make_qualification
from regrade.build.steps.tasks import build_name, images_by_class
from regrade.build.tasks import GridTask
from regrade.build.tile_images import TileImages
from regrade.build.tiles import LARGEST, SMALLEST, decode_for_tile
from regrade.core import AlreadyStored, Column, InputError, Table, Tabular, UnreadableImage
from regrade.core.amounts import amount
from regrade.core.panel import Mode, Role
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option
from regrade.tables import read_text

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue

_DEFAULTS = GridOptions()


class HasWritableLedger(Protocol):
    """An object with a store and its ledger of votes."""

    store: Store

    @property
    def ledger(self) -> Ledger:
        """The ledger, for writing."""


def _percent(help: str, default: float, *names: str) -> Any:
    return option(
        f"{help} (default: {100 * default:g}, or as before).",
        None,
        names=names,
        metavar="PERCENT",
        minimum=1,
        maximum=99,
        percent=True,
    )


@dataclass(frozen=True)
class OpenOptions(StudyOptions):
    """How workers get the tasks; what is not given stays as it is."""

    build: str = build_name()
    qualification: int | None = option(
        "Tasks of known images that a worker has to pass first; 0 for none (default: 1, or as before).", None, minimum=0
    )
    tries: int | None = option("Attempts at the qualification (default: 2, or as before).", None, minimum=1)
    pass_accuracy: float | None = _percent("Accuracy that passes the qualification", _DEFAULTS.pass_accuracy)
    lowest_control_accuracy: float | None = _percent(
        "Pause and exclude workers whose accuracy on controls is proven to be below this",
        _DEFAULTS.lowest,
        "--min-control-accuracy",
    )
    warn_below: float | None = _percent("Warn workers whose accuracy on controls is below this", _DEFAULTS.warn_below)
    per_worker: int | None = option(
        "Most tasks that one worker may do; 0 for no limit (default: no limit, or as before).", None, minimum=0
    )
    consent: Path | None = option(
        "Text file with the conditions to which workers agree first; an empty one for none.", None, metavar="FILE"
    )
    instructions: Path | None = option("Text file with the instructions next to each task.", None, metavar="FILE")
    contact: str | None = option("Who workers can ask, such as a name and an email address.", None, metavar="TEXT")
    size: int | None = option(
        "Width and height of every tile in pixels (default: 400, or as before).",
        None,
        minimum=SMALLEST,
        maximum=LARGEST,
    )


@dataclass(frozen=True, repr=False)
class OpenedGrids(Tabular):
    """The tasks in the browser app: how many are new, how many qualification tasks there are, and the settings."""

    build: str
    queue: str
    tasks: int
    new: int
    qualification_tasks: int
    workers_per_task: int
    workers: int
    version: int
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row."""
        columns = (
            Column("tasks", "tasks"),
            Column("new", "new"),
            Column("qualification_tasks", "qualification tasks"),
            Column("workers_per_task", "workers per task"),
            Column("workers", "workers"),
            Column("version", "version of the settings"),
        )
        row = (self.tasks, self.new, self.qualification_tasks, self.workers_per_task, self.workers, self.version)
        return Table(f"{self.build}: open in the browser as {self.queue!r}", columns, (row,), self.notes)


def run(builds: HasWritableLedger, options: OpenOptions) -> OpenedGrids:
    """Put tasks and qualification tasks into queues of the ledger; idempotent, and settings get a new version."""
    store = builds.store
    stored = TaskCollection(store.root).read(options.build)
    images = TileImages(store, stored)
    with _filling(store, builds.ledger) as ledger:
        before = SettingsCollection(store.root).newest(options.build)
        chosen = _chosen(options, _DEFAULTS if before is None else before.options)
        count = chosen.qualification * chosen.tries
        qualification = make_qualification(stored, images_by_class(images.reference), count)
        _check_readable(images, qualification.tasks)
        settings = GridSettings(options.build, 0 if before is None else before.number, chosen, qualification.tasks)
        if before is not None and before.digest != settings.digest:
            settings = replace(settings, number=before.number + 1)
        SettingsCollection(store.root).add(settings, None)
        queue, new = _filled(store, ledger, stored)
        if settings.tasks:
            _fill_qualification(ledger, stored, settings)
        GridWork(store, ledger, stored, settings, queue=queue, qualification=None).update_needed()
    workers = [person for person in ledger.people.all() if person.role is Role.WORKER]
    notes = [lacking_workers(options.build, queue.overlap, len(workers))]
    if qualification.reused:
        notes.append(
            f"{amount(qualification.reused, 'image')} of the qualification are also controls of tasks, since a class "
            "has too few other reference images: workers who remember them know these controls"
        )
    return OpenedGrids(
        options.build,
        queue.name,
        len(ledger.selections.tasks(queue)),
        new,
        len(settings.tasks),
        queue.overlap,
        len(workers),
        settings.number,
        tuple(note for note in notes if note),
    )


def lacking_workers(build: str, overlap: int, workers: int) -> str:
    """A note if there are fewer workers than each task needs; empty otherwise."""
    if workers >= overlap:
        return ""
    return (
        f"each task needs {amount(overlap, 'worker')}, and there {'is' if workers == 1 else 'are'} {workers:,}: add "
        f"more with regrade build workers {build} --add {overlap - workers}"
    )


def _check_readable(images: TileImages, tasks: Sequence[GridTask]) -> None:
    """Raise if an image of the qualification cannot be read: no one could pass it."""
    for tile in (tile for task in tasks for tile in task.tiles):
        place = images.of(tile)
        try:
            decode_for_tile(place.images.read(place.position), place.source)
        except UnreadableImage as error:
            raise InputError(f"reference image {tile.image} cannot be read: {error}") from None


@contextmanager
def _filling(store: Store, ledger: Ledger) -> Iterator[Ledger]:
    """The ledger, locked against other processes that fill queues."""
    with store.transaction(), ledger.queues.filling():
        yield ledger


def _chosen(options: OpenOptions, before: GridOptions) -> GridOptions:
    """The options that are given, and the earlier ones otherwise."""

    def given(value: Any, otherwise: Any) -> Any:
        return otherwise if value is None else value

    lowest = given(options.lowest_control_accuracy, before.lowest)
    return GridOptions(
        given(options.qualification, before.qualification),
        given(options.tries, before.tries),
        given(options.pass_accuracy, before.pass_accuracy),
        lowest,
        given(options.warn_below, max(before.warn_below, lowest)),
        before.per_worker if options.per_worker is None else options.per_worker or None,
        before.consent if options.consent is None else read_text(options.consent).strip(),
        before.instructions if options.instructions is None else read_text(options.instructions).strip(),
        given(options.contact, before.contact).strip(),
        given(options.size, before.size),
    )


def _filled(store: Store, ledger: Ledger, stored: BuildTasks) -> tuple[Queue, int]:
    """The queue of the tasks, and how many were added; those that were answered elsewhere need no answers."""
    from regrade.ledger import NewItem

    queue = _queue(ledger, stored, tasks_queue_name(stored.build), Mode.EXAMINATION, stored.options.workers)
    outside = Counter(answer.task for answer in AnswerCollection(store.root).read(stored.build))
    items = [NewItem(task.id, task.class_id, needed=max(queue.overlap - outside[task.id], 0)) for task in stored.tasks]
    return queue, ledger.items.add(queue, items)


def _fill_qualification(ledger: Ledger, stored: BuildTasks, settings: GridSettings) -> None:
    from regrade.ledger import MOST_VOTES, NewItem

    queue = _queue(ledger, stored, qualification_queue_name(stored.build), Mode.TRAINING, MOST_VOTES)
    ledger.items.add(queue, [NewItem(task.id, task.class_id) for task in settings.tasks])


def _queue(ledger: Ledger, stored: BuildTasks, name: str, mode: Mode, overlap: int) -> Queue:
    """The queue with a name, created if it is missing; raise if another kind of queue has the name."""
    from regrade.ledger import Question

    queue = next((queue for queue in ledger.queues.all() if queue.name == name), None)
    if queue is None:
        return ledger.queues.create(
            name, Question.SELECT, test_set=stored.pool, overlap=overlap, mode=mode, build=stored.build
        )
    if (queue.question, queue.build, queue.mode) != (Question.SELECT, stored.build, mode):
        raise AlreadyStored(f"there is another queue {name!r}, which does not belong to build {stored.build}")
    return queue


BUILD_OPEN = Study(
    name="open",
    question="How do workers get the tasks in the browser?",
    summary="Put the tasks of a build into the browser app, with a qualification, a gate on the accuracy on controls, "
    "and limits for workers. Run it again to change the settings, or after importing answers of another platform.",
    options=OpenOptions,
    result=OpenedGrids,
    run=run,
    data=attrgetter("build"),
)
