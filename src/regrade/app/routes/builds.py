"""Builds: the progress of grids for owners, with workers and classes that lag, and decisions about workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import Owner, SiteDep
from regrade.app.forms import FormId, PlainText
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.build.grid_work import is_qualification
from regrade.build.steps.open import lacking_workers
from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import Person, Question, Queue, Role, WorkerEvent
from regrade.ledger.schema import now_in_utc

router = APIRouter(prefix="/builds", include_in_schema=False)
_LAGGING = 12  # classes that are listed
_EVENTS = {"pause": WorkerEvent.PAUSED, "exclude": WorkerEvent.EXCLUDED, "reinstate": WorkerEvent.REINSTATED}


class DecisionForm(BaseModel):
    """A decision about a worker, with its reason."""

    worker: FormId
    action: Literal["pause", "exclude", "reinstate"]
    reason: Annotated[PlainText, Field(max_length=1000)] = ""


@dataclass(frozen=True)
class BuildRow:
    """A build in the list: its queue, and the tasks with all answers."""

    queue: Queue
    tasks: int
    complete: int
    answers: int


@router.get("")
def builds(request: Request, site: SiteDep, _: Owner) -> Response:
    """The builds with grids in the browser."""
    rows = []
    for queue in _queues(site):
        counts = site.ledger.queues.progress(queue)
        rows.append(BuildRow(queue, counts.items, counts.answered, sum(counts.by_person.values())))
    return page(request, "builds.html", rows=rows)


@router.get("/{name:path}")
def build(name: str, request: Request, site: SiteDep, _: Owner) -> Response:
    """The progress of a build."""
    return _build_page(request, site, name)


@router.post("/{name:path}")
def decide(
    name: str, request: Request, site: SiteDep, session: Owner, form: Annotated[DecisionForm, Form()]
) -> Response:
    """Pause, exclude or reinstate a worker."""
    grids = site.grids.of(_queue(site, name))
    worker = _person(site, form.worker)
    try:
        grids.work.decide(worker, _EVENTS[form.action], by=session.person, reason=form.reason)
    except (AlreadyStored, InputError) as error:
        return _build_page(request, site, name, error_text=str(error), status=400)
    return RedirectResponse(request.url.path, 303)


def _build_page(request: Request, site: Site, name: str, *, error_text: str = "", status: int = 200) -> Response:
    grids = site.grids.of(_queue(site, name))
    progress = site.build_progress.of(grids)
    people = {person.name: person for person in site.ledger.people.all()}
    workers = sum(person.role is Role.WORKER for person in people.values())
    hours = progress.hours_left
    return page(
        request, "build.html", status=status, name=name, queue=grids.work.queue, progress=progress, people=people,
        space=grids.space, lagging=progress.lagging[:_LAGGING], settings=grids.work.settings.options,
        lacking=lacking_workers(name, grids.work.queue.overlap, workers), error_text=error_text,
        end=None if hours is None or not progress.missing else now_in_utc() + timedelta(hours=hours),
    )  # fmt: skip


def _queues(site: Site) -> list[Queue]:
    """The queues with the tasks of builds."""
    queues = site.ledger.queues.all()
    return [queue for queue in queues if queue.question is Question.SELECT and not is_qualification(queue)]


def _queue(site: Site, name: str) -> Queue:
    queue = next((queue for queue in _queues(site) if queue.build == name), None)
    if queue is None:
        raise UnknownName("build with grids", name, [queue.build for queue in _queues(site)])
    return queue


def _person(site: Site, person_id: int) -> Person:
    person = next((person for person in site.ledger.people.all() if person.id == person_id), None)
    if person is None:
        raise UnknownName("person", str(person_id), None)
    return person
