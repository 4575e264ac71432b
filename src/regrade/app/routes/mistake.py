"""Mistake: of what kind is a model's mistake, and how grave, one image at a time."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteHere
from regrade.app.number_parsing import PathNumber
from regrade.app.pages import page
from regrade.core import MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Question

router = APIRouter(include_in_schema=False)

CATEGORIES = {
    MistakeCategory.FINE_GRAINED.value: "a class close to a right one",
    MistakeCategory.OUT_OF_VOCABULARY.value: "close to something in the image that has no class",
    MistakeCategory.SPURIOUS.value: "not there, but often is in such images",
    MistakeCategory.NON_PROTOTYPICAL.value: "the object is of an unusual kind",
}
"""The kinds of mistakes, and what each means."""

OVERTURNED = ("the prediction is correct", "the prediction is unclear", "the image is problematic")
"""Why something is no mistake after all."""


@router.get("/mistake/{queue_id}")
def mistake(queue_id: PathNumber, request: Request, site: SiteHere, session: Reviewer) -> Response:
    """The page on which mistakes are told apart."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.MISTAKE:
        raise UnknownName("queue of mistakes", queue.name, None)
    progress = site.ledger.progress(queue)
    return page(
        request,
        "mistake.html",
        queue=queue,
        categories=CATEGORIES,
        severities=[one.value for one in Severity],
        no_mistake=NO_MISTAKE,
        reasons=OVERTURNED,
        done=progress.by_person.get(session.person.name, 0),
        items=progress.items,
    )
