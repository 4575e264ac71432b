"""Add a class that an image shows and nobody predicted: it is judged as any other, and adding it is a vote."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from regrade.app.access import Reviewer, SiteDep
from regrade.app.forms import JsonId, PathId, PlainText, StrictForm, StrictRoute
from regrade.app.routes.work import Key, check_seen
from regrade.app.site import Site
from regrade.app.views import item_view
from regrade.core import UnknownName
from regrade.core.panel import Answer
from regrade.ledger import Item, Person, Queue, VoteContent

router = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"], route_class=StrictRoute)


class AddedClassForm(StrictForm):
    """A class of the item's image, and why; ``key`` is the random key of the vote that it counts as."""

    item: JsonId
    class_id: Annotated[PlainText, Field(min_length=1, max_length=200)]
    key: Key
    reason: Annotated[PlainText, Field(max_length=1000)] = ""


class AddedClassReply(BaseModel):
    """The new item, if it is in the queue itself, or why the class was not added; ``address`` leads to the item."""

    added: bool
    item: dict[str, Any] | None = None
    message: str
    address: str | None = None


@router.post("/classes")
def add_class(queue_id: PathId, form: AddedClassForm, site: SiteDep, session: Reviewer) -> AddedClassReply:
    """Add a class to an item's image, with the person's vote "correct" on it; idempotent for the same key."""
    queue, item = site.item(queue_id, form.item, session.person)
    _check_labeled(site, queue, item, session.person)
    check_seen(site, queue, item, session.person, key=form.key)
    added = site.workspace.review.add_class(queue, item, form.class_id, by=session.person, reason=form.reason)
    address = _address(site, added.queue, added.item, session.person)
    if added.refusal or added.queue is None or added.item is None:
        return AddedClassReply(added=False, message=added.refusal, address=address)
    if _has_voted(site, added.item, session.person) and not site.ledger.votes.has_key(form.key):
        return AddedClassReply(added=False, message="you added this class of the image before", address=address)
    content = VoteContent(form.key, Answer.CORRECT.value, reason=form.reason)
    site.ledger.votes.cast(added.item.id, session.person, content)
    is_beside = added.queue.id != queue.id
    return AddedClassReply(
        added=True,
        item=None if is_beside else item_view(site, queue, added.item, session.person),
        message=f"added to the queue {added.queue.name}" if is_beside else "added",
        address=address,
    )


def _check_labeled(site: Site, queue: Queue, item: Item, person: Person) -> None:
    """Refuse if the person still has to label the image: whether a class is judged already would reveal its labels."""
    test_set = site.test_set(queue.test_set)
    if asking := site.hidden_from(person).to_label().asking(test_set, test_set.position(item.example)):
        name = asking[0].queue.name
        raise HTTPException(403, f"you still have to label this image in {name!r}: label it there first")


def _has_voted(site: Site, item: Item, person: Person) -> bool:
    return any(vote.person_id == person.id for vote in site.ledger.discussions.seen_by(item.id, person).standing)


def _address(site: Site, queue: Queue | None, item: Item | None, person: Person) -> str | None:
    """The URL of an item's page, if the person may work on its queue."""
    if queue is None or item is None:
        return None
    try:
        site.queue(queue.id, person)
    except UnknownName:
        return None
    return f"/panel/{queue.id}/{item.id}"
