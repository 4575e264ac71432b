"""Select: the grids of a build for workers, their consent and home page, and the API of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import SiteDep, Worker
from regrade.app.forms import JsonId, PathId, StrictForm, StrictRoute
from regrade.app.grids import OpenGrids, stop_reason, wikipedia_address, work_summary
from regrade.app.guide_views import confusable_classes, render_markdown
from regrade.app.pages import page
from regrade.app.routes.sign_in import client_network, start_session
from regrade.app.routes.work import Key
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.app.views import class_view
from regrade.build.grid_work import NextStep, SelectionOutcome, Step, is_qualification
from regrade.build.tasks import GridTask, TileRole
from regrade.core import InputError
from regrade.ledger import Item, Person, Question, Queue, Role, WorkerEvent

router = APIRouter(include_in_schema=False)
_KEEP = {"Cache-Control": "private, max-age=86400, immutable"}
_MAX_TILES = 400  # names in a request
_WARNING = (
    "Some of your answers about images whose class is known were not right. Please look closely, enlarge images when "
    "you are not sure, and read the definition."
)


@router.get("/work")
def work_home(request: Request, site: SiteDep, session: Worker) -> Response:
    """The home page of a worker: what is done, what is left, and their standing."""
    queues = _grid_queues(site, session.person)
    summaries = [work_summary(site.grids.of(queue), session.person) for queue in queues]
    return page(request, "work.html", summaries=summaries)


@router.get("/work/{token}")
def enter_by_link(token: str, request: Request, site: SiteDep) -> Response:
    """Sign a worker in by their link, which works repeatedly, and redirect to their task."""
    address, name = client_network(request), f"link {token}"
    if (seconds := site.attempts.reserve(address, name)) > 0:
        response = page(
            request, "error.html", status=429, code=429, message=f"too many attempts: wait {ceil(seconds)} seconds"
        )
        response.headers["Retry-After"] = str(ceil(seconds))
        return response
    worker = site.ledger.workers.holder(token)
    if worker is None:
        raise HTTPException(404, "this link has expired or was ended: ask the person who gave it to you for a new one")
    site.attempts.succeeded(address, name)
    session = site.session_of(request)
    if session is not None and session.person.role is not Role.WORKER:
        raise HTTPException(
            409, f"you are signed in as {session.person.name}: open a worker's link in a private window"
        )
    queues = _grid_queues(site, worker)
    destination = f"/select/{queues[0].id}" if len(queues) == 1 else "/work"
    if session is not None and session.person.id == worker.id:
        return RedirectResponse(destination, 303)
    return start_session(request, site, site.accounts.account_of(worker), destination)


@router.get("/select/{queue_id}")
def select(queue_id: PathId, request: Request, site: SiteDep, session: Worker) -> Response:
    """The page of the next task, or what a worker has to do or to know first."""
    queue = _tasks_queue(site, queue_id, session.person)
    if queue.id != queue_id:
        return RedirectResponse(f"/select/{queue.id}", 303)
    grids = site.grids.of(queue)
    (step, held), options = _next_step(site, grids, session.person), grids.work.settings.options
    if step.step is Step.CONSENT:
        return page(request, "consent.html", queue=queue, text=options.consent, contact=options.contact)
    if step.task is None:
        return page(
            request, "work_state.html", queue=queue, step=step.step.value, done=step.done, reason=stop_reason(step),
            held=held, contact=options.contact,
        )  # fmt: skip
    return page(request, "select.html", queue=queue, instructions=options.instructions)


@router.post("/select/{queue_id}/consent")
def consent(queue_id: PathId, site: SiteDep, session: Worker) -> Response:
    """Record that a worker agrees to the conditions."""
    queue = _tasks_queue(site, queue_id, session.person)
    site.grids.of(queue).work.consent(session.person)
    return RedirectResponse(f"/select/{queue.id}", 303)


def queue_of_tile(queue_id: PathId, site: SiteDep, session: Worker) -> Queue:
    """The queue in the URL of a tile; not read by the event loop itself, which must not wait for the database."""
    return site.queue(queue_id, session.person)


@router.get("/tiles/{queue_id}/{opaque_id}")
async def tile(
    opaque_id: str, site: SiteDep, session: Worker, queue: Annotated[Queue, Depends(queue_of_tile)]
) -> Response:
    """A tile of a task, or an example image; all have the same format and the same headers."""
    with site.unseen.track(session.person, f"/tiles/{queue.id}/{opaque_id}"):
        await to_thread.run_sync(_check_tile, site, queue, session.person, opaque_id)
        content = await site.grids.tile(queue, session.person, opaque_id)
    return Response(content, media_type="image/jpeg", headers=_KEEP)


def _check_tile(site: Site, queue: Queue, person: Person, opaque_id: str) -> None:
    site.holding.check_image(*site.grids.shown_at(queue, person, opaque_id), person)


def _next_step(site: Site, grids: OpenGrids, person: Person) -> tuple[NextStep, str]:
    """The next step of a person, and a line about the tasks that are held back from them."""
    held = ""

    def give(queue: Queue, to: Person) -> Item | None:
        nonlocal held
        given = site.holding.next_item(queue, to)
        held = given.held
        return given.item

    step, qualification = grids.work.next_step(person, give=give), grids.work.qualification
    if step.step is Step.QUALIFICATION and qualification is not None and step.item is not None:
        held = site.holding.refusal(qualification, step.item, person)
    if held and step.step in (Step.DONE, Step.QUALIFICATION):
        step = replace(step, step=Step.HELD, item=None, task=None)
    return step, held


def _grid_queues(site: Site, person: Person) -> list[Queue]:
    """The queues of tasks that a person may work on."""
    queues = site.ledger.queues.open_to(person)
    return [queue for queue in queues if queue.question is Question.SELECT and not is_qualification(queue)]


def _tasks_queue(site: Site, queue_id: int, person: Person) -> Queue:
    """A queue of tasks; that of a qualification leads to the tasks of its build."""
    queue = site.queue(queue_id, person)
    if not is_qualification(queue):
        return queue
    return next((own for own in _grid_queues(site, person) if own.build == queue.build), queue)


api = APIRouter(prefix="/api/queues/{queue_id}", tags=["select"], route_class=StrictRoute)

TileName = Annotated[str, Field(max_length=64)]


class SelectionForm(StrictForm):
    """The selected tiles of a task, by the last parts of their URLs; ``key`` is a random key of the answer."""

    item: JsonId
    key: Key
    selected: Annotated[list[TileName], Field(max_length=_MAX_TILES)]
    seconds: Annotated[float | None, Field(ge=0, lt=1e6, strict=True)] = None


class ReturnForm(StrictForm):
    """The task to return; ``unreadable`` if one of its images cannot be shown."""

    item: JsonId
    unreadable: bool = False


class TaskReply(BaseModel):
    """The next step of a worker, and its task if it has one."""

    step: str
    task: dict[str, Any] | None


class StoredSelection(BaseModel):
    """The id of the stored answer, the feedback to a qualification task, and a message of the gate, if any."""

    vote: int
    feedback: dict[str, Any] | None = None
    message: str = ""


@api.get("/task")
def task(queue_id: PathId, site: SiteDep, session: Worker) -> TaskReply:
    """The person's next task, reserved for them."""
    queue = site.queue(queue_id, session.person)
    grids = site.grids.of(queue)
    step, _ = _next_step(site, grids, session.person)
    return TaskReply(step=step.step.value, task=_task_view(site, queue, grids, step, session.person))


@api.post("/selections")
def add_selection(queue_id: PathId, form: SelectionForm, site: SiteDep, session: Worker) -> StoredSelection:
    """Store the selection of a task; idempotent for the same key."""
    person = session.person
    queue = site.queue(queue_id, person)
    work = site.grids.of(queue).work
    shown = work.task_of(form.item)
    site.holding.check(queue, work.items[form.item], person)
    answer = _digits(site, queue, person, form, shown)
    _check_seen(site, session, queue, form, shown)
    outcome = work.submit(person, form.item, key=form.key, answer=answer, seconds=form.seconds)
    feedback = _feedback(site.grids.tile_addresses(queue, person, form.item, shown), shown, outcome)
    is_warning = outcome.event is not None and outcome.event.event is WorkerEvent.WARNED
    return StoredSelection(vote=outcome.vote, feedback=feedback, message=_WARNING if is_warning else "")


@api.post("/return")
def return_task(queue_id: PathId, form: ReturnForm, site: SiteDep, session: Worker) -> TaskReply:
    """Return a task without an answer, and get the next one."""
    work = site.grids.of(site.queue(queue_id, session.person)).work
    work.give_back(session.person, form.item)
    if form.unreadable:
        site.reports.add(form.item, session.person, "an image of this task cannot be shown")
    return task(queue_id, site, session)


@api.post("/take-back")
def take_back(queue_id: PathId, site: SiteDep, session: Worker) -> TaskReply:
    """Get returned tasks again."""
    queue = site.queue(queue_id, session.person)
    site.grids.of(queue)
    site.ledger.items.return_skipped(queue, session.person)
    return task(queue_id, site, session)


def _task_view(site: Site, queue: Queue, grids: OpenGrids, step: NextStep, person: Person) -> dict[str, Any] | None:
    """A task as its worker sees it: nothing in it tells a control."""
    if step.task is None or step.item is None:
        return None
    class_index = grids.space.index(step.task.class_id)
    addresses = site.grids.tile_addresses(queue, person, step.item.id, step.task)
    address_of = dict(zip(step.task.tiles, addresses, strict=True))
    name = grids.space.names[class_index]
    return {
        "id": step.item.id,
        "qualification": step.step is Step.QUALIFICATION,
        "done": step.done,
        "class": class_view(grids.space, class_index),
        "wikipedia": wikipedia_address(name),
        "guide": _guide_view(site, grids, class_index),
        "examples": site.grids.example_addresses(
            queue, person, step.task.class_id, visible=partial(site.holding.is_visible, person)
        ),
        "tiles": [address_of[tile] for tile in step.task.order_for(person.name)],
    }


def _guide_view(site: Site, grids: OpenGrids, class_index: int) -> dict[str, Any] | None:
    """The guide entry of a class, without images, since these may be controls."""
    stored = site.guide.entry(grids.space.name, grids.space.ids[class_index])
    if stored is None:
        return None
    text = stored.content
    alike = [confusable.name for confusable in confusable_classes(grids.space, class_index, text.alike)]
    return {"html": render_markdown(text.text), "traits": list(text.traits), "alike": alike}


def _digits(site: Site, queue: Queue, person: Person, form: SelectionForm, shown: GridTask) -> str:
    """The answer in the order of the stored task; raises for tiles of another task."""
    chosen = {site.grids.position(queue, person, form.item, name) for name in form.selected}
    return "".join("1" if position in chosen else "0" for position in range(len(shown.tiles)))


def _check_seen(site: Site, session: Session, queue: Queue, form: SelectionForm, shown: GridTask) -> None:
    """Raise if an image of the task could not be shown to the person; a stored answer stays valid."""
    addresses = site.grids.tile_addresses(queue, session.person, form.item, shown)
    unseen = any(site.unseen.has(session.person, address) for address in addresses)
    if unseen and not site.ledger.votes.has_key(form.key):
        raise InputError("an image of this task could not be shown to you: return the task")


def _feedback(addresses: Sequence[str], shown: GridTask, outcome: SelectionOutcome) -> dict[str, Any] | None:
    """The feedback to a qualification task: which tiles were answered wrongly, and whether each shows the class."""
    result = outcome.feedback
    if result is None:
        return None
    is_positive = [tile.role is TileRole.POSITIVE for tile in shown.tiles]
    return {
        "wrong": [{"tile": addresses[position], "shows": is_positive[position]} for position in result.wrong],
        "right": result.controls - len(result.wrong),
        "controls": result.controls,
        "passed": result.passed,
        "tries_left": result.tries_left,
    }
