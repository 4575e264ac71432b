"""Discussion of answers in training: under the feedback to an answer, and all discussed images of a queue."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, SiteDep
from regrade.app.forms import PathId, PlainText, StrictForm, StrictRoute
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.routes.work import TrainingFeedback, feedback_on
from regrade.app.site import Site
from regrade.app.views import image_address
from regrade.core import InputError, UnknownName
from regrade.ledger import Item, Mode, Person, Question, Queue, TrainingThread

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api/queues/{queue_id}/items/{item_id}/comments", tags=["work"], route_class=StrictRoute)


class TrainingComment(StrictForm):
    """A comment on an image in training."""

    text: Annotated[PlainText, Field(max_length=5000)]


class Comments(BaseModel):
    """The comments on an image in training, oldest first."""

    comments: list[dict[str, Any]]


def _training_queue(queue_id: PathId, site: SiteDep, session: Labeler) -> Queue:
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.LABEL or queue.mode is not Mode.TRAINING:
        raise UnknownName("training queue", queue.name, None)
    return queue


TrainingQueueDep = Annotated[Queue, Depends(_training_queue)]


def _answered_item(item_id: PathId, queue: TrainingQueueDep, site: SiteDep, session: Labeler) -> Item:
    """An item that the person has answered, and about which they know the right classes."""
    _, item = site.item(queue.id, item_id, session.person)
    try:
        thread = site.ledger.training_threads.of_item(item.id, session.person)
    except InputError as error:
        raise HTTPException(403, str(error)) from None
    if _feedback(site, queue, thread, site.hidden_from(session.person)) is None:
        raise HTTPException(403, "another queue still asks you to label this image: its discussion is shown then")
    return item


AnsweredItemDep = Annotated[Item, Depends(_answered_item)]


@router.get("/training/{queue_id}")
def training(queue: TrainingQueueDep, request: Request, site: SiteDep, session: Labeler) -> Response:
    """The images with comments that the person has answered, with the right classes."""
    space = site.test_set(queue.test_set).class_space
    names = dict(zip(space.ids, space.names, strict=True))
    cards = [
        {
            "item": thread.item.id,
            "image": image_address(site, queue, thread.item),
            "own": names.get(thread.own, thread.own),
            "outcome": feedback.outcome,
            "right": [names[class_id] for class_id in feedback.right],
        }
        for thread, feedback in visible_threads(site, queue, session.person)
    ]
    return page(request, "training.html", queue=queue, cards=cards)


@api.get("")
def comments(item: AnsweredItemDep, site: SiteDep, session: Labeler) -> Comments:
    """The comments on an image that the person has answered."""
    return _shown(site, site.ledger.training_threads.of_item(item.id, session.person))


@api.post("")
def comment(item: AnsweredItemDep, form: TrainingComment, site: SiteDep, session: Labeler) -> Comments:
    """Add a comment; a comment that is sent twice in a row is stored once."""
    return _shown(site, site.ledger.training_threads.comment(item.id, session.person, form.text))


def visible_threads(site: Site, queue: Queue, person: Person) -> list[tuple[TrainingThread, TrainingFeedback]]:
    """The discussions of a training queue that a person may see, with the feedback to their answers."""
    threads = site.ledger.training_threads.of_queue(queue, person)
    hidden = site.hidden_from(person) if threads else None
    with_feedback = ((thread, _feedback(site, queue, thread, hidden)) for thread in threads if hidden is not None)
    return [(thread, feedback) for thread, feedback in with_feedback if feedback is not None]


def _feedback(site: Site, queue: Queue, thread: TrainingThread, hidden: HiddenImages) -> TrainingFeedback | None:
    """The feedback to a person's answer; None as long as it is withheld, with the ``hidden`` images of the person."""
    feedback = feedback_on(site, queue, thread.item, thread.own, hidden)
    return None if feedback.outcome == "withheld" else feedback


def _shown(site: Site, thread: TrainingThread) -> Comments:
    names = {person.id: person.name for person in site.ledger.people.all()}
    return Comments(
        comments=[
            {"id": row.id, "person": names[row.person_id], "text": row.text, "at": row.at.isoformat()}
            for row in thread.comments
        ]
    )
