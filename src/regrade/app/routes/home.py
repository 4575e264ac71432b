"""Home: the person's queues, their progress, and items that wait for discussion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import SiteDep, Worker
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.routes.panel import OpenQuestion, open_questions, visible_items
from regrade.app.routes.training import visible_threads
from regrade.app.site import Site
from regrade.build.grid_work import is_qualification
from regrade.core import RegradeError
from regrade.ledger import Mode, Pace, Person, Question, Queue, QueueProgress, Role, Stage, TopicFilter
from regrade.studies import PanelAgreement

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class MyQueue:
    """A queue with its progress for one person; ``decided`` and ``disputed`` count the items that they may see.

    ``discussed`` are the images in training with comments, among those that the person has answered, and ``held`` says
    how many items an examination holds back from them.
    """

    queue: Queue
    test_sets: tuple[str, ...]
    discussed: int
    held: str
    progress: QueueProgress
    pace: Pace
    mine: int
    decided: int
    disputed: int
    agreement: PanelAgreement | None


@router.get("/")
def home(request: Request, site: SiteDep, session: Worker) -> Response:
    """The queues of the signed-in person; queues with work left come first. Workers have a page of their own."""
    if session.person.role is Role.WORKER:
        return RedirectResponse("/work", 303)
    open_queues = [queue for queue in site.ledger.queues.open_to(session.person) if not is_qualification(queue)]
    queues = [_mine(site, queue, session.person) for queue in open_queues]
    if session.person.role is not Role.LABELER:
        queues = _without_hidden(site, queues, session.person)
    questions = [] if session.person.role is Role.LABELER else _asked(site, session.person)
    return page(request, "home.html", asked=questions, queues=sorted(queues, key=lambda queue: queue.pace.left == 0))


def _mine(site: Site, queue: Queue, person: Person) -> MyQueue:
    progress = site.ledger.queues.progress(queue)
    votes = sum(progress.by_person.values()), progress.newest_vote
    return MyQueue(
        queue,
        site.hiding.test_sets([queue]),
        _discussed(site, queue, person),
        _held(site, queue, person),
        progress,
        site.ledger.queues.pace(queue, person),
        progress.by_person.get(person.name, 0),
        progress.decided,
        progress.disputed,
        None if person.role is Role.LABELER else site.agreement(queue, votes),
    )


def _asked(site: Site, person: Person) -> list[OpenQuestion]:
    """The open questions to a person as an expert."""
    try:
        return open_questions(site, person)
    except RegradeError:  # files of a test set are damaged: the pages of its queues say so
        return []


def _discussed(site: Site, queue: Queue, person: Person) -> int:
    """The number of images in training with comments that a person may see."""
    if queue.question is not Question.LABEL or queue.mode is not Mode.TRAINING:
        return 0
    try:
        return len(visible_threads(site, queue, person))
    except RegradeError:  # files of a test set are damaged: the pages of its queues say so
        return 0


def _held(site: Site, queue: Queue, person: Person) -> str:
    """What is held back from a person, in one line."""
    try:
        return site.holding.note(queue, person)
    except RegradeError:  # files of a test set are damaged: the pages of its queues say so
        return ""


def _without_hidden(site: Site, queues: list[MyQueue], person: Person) -> list[MyQueue]:
    """The queues with counts of decided and disputed items whose images are not hidden from a person."""
    if not any(mine.queue.question.decided and mine.decided + mine.disputed for mine in queues):
        return queues
    try:
        hidden = site.hidden_from(person)
        return [_with_visible(site, mine, hidden) for mine in queues] if hidden.queues else queues
    except RegradeError:  # files of a test set are damaged: the pages of its queues say so
        return queues


def _with_visible(site: Site, mine: MyQueue, hidden: HiddenImages) -> MyQueue:
    if not (mine.queue.question.decided and mine.decided + mine.disputed):
        return mine
    decided, disputed = (
        len(visible_items(site, mine.queue, hidden, site.ledger.discussions.items(mine.queue, TopicFilter(stage))))
        for stage in (Stage.DECIDED, Stage.DISPUTED)
    )
    return replace(mine, decided=decided, disputed=disputed)
