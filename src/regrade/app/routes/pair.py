"""The page on which people decide whether two similar images are duplicates."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Labeler, SiteDep
from regrade.app.forms import PathId
from regrade.app.pages import page
from regrade.core import UnknownName
from regrade.ledger import Question

router = APIRouter(include_in_schema=False)


@router.get("/pair/{queue_id}")
def pair(queue_id: PathId, request: Request, site: SiteDep, session: Labeler) -> Response:
    """The page on which two images are compared."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.PAIR:
        raise UnknownName("queue of pairs", queue.name, None)
    progress = site.ledger.queues.progress(queue)
    done = progress.by_person.get(session.person.name, 0)
    return page(request, "pair.html", queue=queue, done=done, items=progress.items)
