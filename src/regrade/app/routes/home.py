"""Home: the person's queues, their progress, and items that wait for discussion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import SiteDep, Worker
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.routes.panel import visible_items
from regrade.app.site import Site
from regrade.build.grid_work import is_qualification
from regrade.core import RegradeError
from regrade.ledger import Pace, Person, Queue, QueueProgress, Role, Stage, TopicFilter
from regrade.studies import PanelAgreement

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class MyQueue:
    """A queue with its progress for one person; ``decided`` and ``disputed`` count the items that they may see."""

    queue: Queue
    test_sets: tuple[str, ...]
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
    return page(request, "home.html", queues=sorted(queues, key=lambda queue: queue.pace.left == 0))


def _mine(site: Site, queue: Queue, person: Person) -> MyQueue:
    progress = site.ledger.queues.progress(queue)
    votes = sum(progress.by_person.values()), progress.newest_vote
    return MyQueue(
        queue,
        site.hiding.test_sets([queue]),
        progress,
        site.ledger.queues.pace(queue, person),
        progress.by_person.get(person.name, 0),
        progress.decided,
        progress.disputed,
        None if person.role is Role.LABELER else site.agreement(queue, votes),
    )


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
