"""Home: the person's queues, their progress, and items that wait for discussion."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from regrade.app.access import Labeler, SiteDep
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.ledger import Pace, Person, Queue, QueueProgress, Role
from regrade.studies import PanelAgreement

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class MyQueue:
    """A queue with its progress for one person."""

    queue: Queue
    progress: QueueProgress
    pace: Pace
    mine: int
    agreement: PanelAgreement | None


@router.get("/")
def home(request: Request, site: SiteDep, session: Labeler) -> Response:
    """The queues of the signed-in person; queues with work left come first."""
    queues = [_mine(site, queue, session.person) for queue in site.ledger.queues.open_to(session.person)]
    return page(request, "home.html", queues=sorted(queues, key=lambda queue: queue.pace.left == 0))


def _mine(site: Site, queue: Queue, person: Person) -> MyQueue:
    progress = site.ledger.queues.progress(queue)
    votes = sum(progress.by_person.values()), progress.newest_vote
    agreement = None if person.role is Role.LABELER else site.agreement(queue, votes)
    return MyQueue(
        queue, progress, site.ledger.queues.pace(queue, person), progress.by_person.get(person.name, 0), agreement
    )
