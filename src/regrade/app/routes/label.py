"""Label: one image at a time, and all classes to choose from."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Labeler, SiteDep
from regrade.app.forms import PathId
from regrade.app.pages import page
from regrade.core import UnknownName
from regrade.ledger import Question

router = APIRouter(include_in_schema=False)


@router.get("/label/{queue_id}")
def label(queue_id: PathId, request: Request, site: SiteDep, session: Labeler) -> Response:
    """The page on which images are labeled."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.LABEL:
        raise UnknownName("queue of images to label", queue.name, None)
    progress = site.ledger.queues.progress(queue)
    done = progress.by_person.get(session.person.name, 0)
    space = site.test_set(queue.test_set).class_space.name
    return page(request, "label.html", queue=queue, space=space, done=done, items=progress.items)
