"""Judge: one image and one predicted class at a time."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.forms import PathId
from regrade.app.pages import page
from regrade.core import UnknownName
from regrade.ledger import Question

router = APIRouter(include_in_schema=False)

REASONS = ("wrong label", "drawing", "edited", "inappropriate")
"""Reasons why an image is problematic."""


@router.get("/judge/{queue_id}")
def judge(queue_id: PathId, request: Request, site: SiteDep, session: Reviewer) -> Response:
    """The page on which predictions are judged."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.JUDGE:
        raise UnknownName("queue of predictions to judge", queue.name, None)
    progress = site.ledger.queues.progress(queue)
    done = progress.by_person.get(session.person.name, 0)
    return page(request, "judge.html", queue=queue, reasons=REASONS, done=done, items=progress.items)
