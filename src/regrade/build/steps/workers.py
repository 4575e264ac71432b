"""regrade build workers: list the workers of a build in the browser, add some with links, and decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from regrade.build.grid_progress import AnswerLog, WorkerProgress, grid_progress
from regrade.build.grid_work import GridWork
from regrade.build.standing import WorkerStanding
from regrade.build.steps.open import HasWritableLedger
from regrade.build.steps.tasks import build_name
from regrade.core import Column, Estimate, InputError, Table, Tabular
from regrade.core.panel import Role, WorkerEvent
from regrade.studies.study import Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Person

_HERE = "http://127.0.0.1:8765"


@dataclass(frozen=True)
class WorkersOptions(StudyOptions):
    """Who is added, and what is decided about workers."""

    build: str = build_name()
    add: int = option("Add this many anonymous workers and print their links.", 0, minimum=0, metavar="N")
    link: Sequence[str] = option(
        "Print a new link for this worker, such as for a lost one. May be repeated.", (), metavar="NAME"
    )
    address: str = option("URL of the app, for the printed links.", _HERE, metavar="URL")
    pause: Sequence[str] = option("Give this worker no more tasks for now. May be repeated.", (), metavar="NAME")
    exclude: Sequence[str] = option(
        "Give this worker no more tasks, and leave their answers out. May be repeated.", (), metavar="NAME"
    )
    reinstate: Sequence[str] = option(
        "Let this worker continue; from then on only later answers to controls count against them. May be repeated.",
        (),
        metavar="NAME",
    )
    reason: str = option("Why a worker is paused, excluded or reinstated; it is logged.", "", metavar="TEXT")


@dataclass(frozen=True)
class NewLink:
    """A worker's link: it signs them in without a password, as often as they like, for 90 days."""

    worker: str
    link: str


@dataclass(frozen=True)
class ListedWorker:
    """A worker in the list: answered tasks, median seconds, accuracy on controls, standing, and the newest event."""

    worker: str
    tasks: int
    seconds: float | None
    control_accuracy: Estimate | None
    standing: str
    last_event: str | None


@dataclass(frozen=True, repr=False)
class BuildWorkers(Tabular):
    """The workers of a build, or the links that were asked for."""

    build: str
    links: tuple[NewLink, ...]
    workers: tuple[ListedWorker, ...]

    def table(self) -> Table:
        """The new links if there are any, otherwise one row per worker."""
        if not self.links:
            return self._workers()
        columns = (Column("worker", "worker"), Column("link", "link"))
        note = (
            "a link signs its worker in for 90 days, also repeatedly: treat it like a password; it is not shown again"
        )
        rows = tuple((new.worker, new.link) for new in self.links)
        return Table(f"{self.build}: links of workers", columns, rows, (note,))

    def _workers(self) -> Table:
        columns = (
            Column("worker", "worker"),
            Column("tasks", "tasks"),
            Column("seconds", "seconds per task", percent=False),
            Column("control_accuracy", "control accuracy"),
            Column("standing", "standing"),
            Column("last_event", "last event"),
        )
        rows = tuple(
            (row.worker, row.tasks, row.seconds, row.control_accuracy, row.standing, row.last_event)
            for row in self.workers
        )
        return Table(f"{self.build}: workers", columns, rows, () if rows else ("no workers yet: add some with --add",))


def _event(standing: WorkerStanding) -> str | None:
    """The newest event of a worker in words."""
    if standing.last is None:
        return None
    by = f" by {standing.last.by}" if standing.last.by else ""
    reason = f": {standing.last.reason}" if standing.last.reason else ""
    return f"{standing.last.event.value}{by}, {standing.last.at:%Y-%m-%d}{reason}"


def run(builds: HasWritableLedger, options: WorkersOptions) -> BuildWorkers:
    """List the workers of a build; add workers, and log decisions about them first."""
    ledger = builds.ledger
    work = GridWork.load(builds.store, ledger, options.build)
    decisions = {
        WorkerEvent.PAUSED: options.pause,
        WorkerEvent.EXCLUDED: options.exclude,
        WorkerEvent.REINSTATED: options.reinstate,
    }
    if any(decisions.values()) and not options.reason.strip():
        raise InputError("give a reason with --reason: it is logged, and shown to owners")
    decided = [(event, ledger.people.named(name)) for event, names in decisions.items() for name in names]
    linked = [ledger.people.named(name) for name in options.link]
    for event, worker in decided:
        work.decide(worker, event, by=_owner(ledger), reason=options.reason)
    tokens = [(worker, ledger.workers.link(worker)) for worker in linked]
    if options.add:
        tokens += [(new.worker, new.token) for new in ledger.workers.add(options.add)]
    address = options.address.rstrip("/")
    links = tuple(NewLink(worker.name, f"{address}/work/{token}") for worker, token in tokens)
    return BuildWorkers(options.build, links, worker_list(work))


def _owner(ledger: Ledger) -> Person | None:
    """The first owner, who runs commands; None if there is none."""
    return next((person for person in ledger.people.all() if person.role is Role.OWNER), None)


def worker_list(work: GridWork) -> tuple[ListedWorker, ...]:
    """All workers of the ledger, and everyone else who has answered or has an event, by name."""
    from regrade.ledger.schema import now_in_utc

    rows = {row.worker: row for row in grid_progress(work, AnswerLog(work), now=now_in_utc()).workers}
    for person in work.ledger.people.all():
        if person.role is Role.WORKER and person.name not in rows:
            rows[person.name] = WorkerProgress(person.name, 0, None, None, WorkerStanding())
    return tuple(
        ListedWorker(
            row.worker, row.tasks, row.seconds, row.control_accuracy, row.standing.in_words(), _event(row.standing)
        )
        for _, row in sorted(rows.items())
    )


BUILD_WORKERS = Study(
    name="workers",
    question="Who works on the tasks, and how well?",
    summary="List the workers of a build with speed, accuracy on controls and standing; add anonymous workers with "
    "links; pause, exclude or reinstate workers.",
    options=WorkersOptions,
    result=BuildWorkers,
    run=run,
    data=attrgetter("build"),
    head=None,
)
