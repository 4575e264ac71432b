"""The work pages, one per question: label images, judge predictions, and categorize mistakes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Labeler, Reviewer, SiteDep
from regrade.app.forms import PathId
from regrade.app.pages import page
from regrade.core import MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Question

router = APIRouter(include_in_schema=False)

REASONS = ("wrong label", "drawing", "edited", "inappropriate")
"""Reasons why an image is problematic."""

CATEGORIES = {
    MistakeCategory.FINE_GRAINED.value: "a class close to a right one",
    MistakeCategory.OUT_OF_VOCABULARY.value: "close to something in the image that has no class",
    MistakeCategory.SPURIOUS.value: "not there, but often is in such images",
    MistakeCategory.NON_PROTOTYPICAL.value: "the object is of an unusual kind",
}
"""Categories of mistakes, with explanations."""

OVERTURNED = ("the prediction is correct", "the prediction is unclear", "the image is problematic")
"""Reasons why a prediction is not a mistake after all."""


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


@router.get("/judge/{queue_id}")
def judge(queue_id: PathId, request: Request, site: SiteDep, session: Reviewer) -> Response:
    """The page on which predictions are judged."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.JUDGE:
        raise UnknownName("queue of predictions to judge", queue.name, None)
    progress = site.ledger.queues.progress(queue)
    done = progress.by_person.get(session.person.name, 0)
    return page(request, "judge.html", queue=queue, reasons=REASONS, done=done, items=progress.items)


@router.get("/mistake/{queue_id}")
def mistake(queue_id: PathId, request: Request, site: SiteDep, session: Reviewer) -> Response:
    """The page on which mistakes are categorized."""
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.MISTAKE:
        raise UnknownName("queue of mistakes", queue.name, None)
    progress = site.ledger.queues.progress(queue)
    return page(
        request, "mistake.html", queue=queue, categories=CATEGORIES, no_mistake=NO_MISTAKE, reasons=OVERTURNED,
        severities=[severity.value for severity in Severity], done=progress.by_person.get(session.person.name, 0),
        items=progress.items,
    )  # fmt: skip
