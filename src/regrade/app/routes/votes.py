"""What the pages of work call: the next item, a vote, taking it back, and more pictures of a class."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, SiteHere
from regrade.app.forms import StrictForm
from regrade.app.numbers import LARGEST, Number, PathNumber
from regrade.app.plain_text import PlainText
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.app.training import Told, told_after
from regrade.app.views import item_view, references
from regrade.core import UnknownName
from regrade.ledger import Ballot, Item, Question, Queue

router = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"])

MOST_REFERENCES = 100


class VoteForm(StrictForm):
    """A ballot as a page sends it; ``key`` is made up by the page, once for each vote."""

    item: Number
    key: Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[\w-]+$")]
    answer: Annotated[PlainText, Field(min_length=1, max_length=200)]
    severity: Annotated[str | None, Field(max_length=10)] = None
    reason: Annotated[PlainText, Field(max_length=1000)] = ""
    why: Annotated[PlainText, Field(max_length=1000)] = ""
    seconds: Annotated[float | None, Field(ge=0, lt=1e6)] = None


class UndoForm(StrictForm):
    """Which vote to take back: the newest, or that on an item."""

    key: Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[\w-]+$")]
    item: Number | None = None


class NextItem(BaseModel):
    """What comes next, or nothing where all is done."""

    item: dict[str, Any] | None


class CastVote(BaseModel):
    """The vote's number in the ledger: it is there, whatever happens now. In training, what is told of it.

    Of a mistake, what the automatic triage ``suggests``.
    """

    vote: int
    told: Told | None = None
    suggests: str | None = None


@router.get("/next")
def next_item(
    queue_id: PathNumber, site: SiteHere, session: Labeler, after: Annotated[int | None, Query(ge=1, le=LARGEST)] = None
) -> NextItem:
    """The next item for whoever asks, or the one after that which they have before them."""
    queue = site.queue(queue_id, session.person)
    found = site.ledger.next_item(queue, session.person, after=after)
    return NextItem(item=None if found is None else item_view(site, queue, found, session.person))


@router.post("/votes")
def vote(queue_id: PathNumber, form: VoteForm, site: SiteHere, session: Labeler) -> CastVote:
    """Add a vote; the same one a second time changes nothing."""
    queue, item = _item(site, session, queue_id, form.item)
    ballot = Ballot(form.key, form.answer, form.severity, form.reason, form.why, form.seconds)
    check_class(site, queue, ballot)
    cast = site.ledger.vote(item.id, session.person, ballot)
    suggests = site.suggestions.of(queue, item) if queue.question is Question.MISTAKE else None
    return CastVote(vote=cast.id, told=told_after(site, queue, item, form.answer), suggests=suggests)


@router.post("/undo")
def undo(queue_id: PathNumber, form: UndoForm, site: SiteHere, session: Labeler) -> NextItem:
    """Take back one's newest vote, and get its item again."""
    queue = site.queue(queue_id, session.person)
    if form.item is None:
        last = site.ledger.last_vote_of(session.person, queue)
        if last is None:
            return NextItem(item=None)
        item_id = last.item_id
    else:
        item_id = _item(site, session, queue_id, form.item)[1].id
    site.ledger.take_back(item_id, session.person, key=form.key, why="undone at once")
    return NextItem(item=item_view(site, queue, site.ledger.item(item_id), session.person))


@router.get("/references")
def more_references(
    queue_id: PathNumber, site: SiteHere, session: Labeler, class_id: Annotated[str, Query(max_length=200)]
) -> list[str]:
    """Up to a hundred pictures of a class, none from the test set that is asked about."""
    queue = site.queue(queue_id, session.person)
    index = site.test_set(queue.test_set).class_space.index(class_id)
    return references(site, queue, session.person, index, MOST_REFERENCES)


def check_class(site: Site, queue: Queue, ballot: Ballot) -> None:
    """Raise where a label is no class of the test set."""
    if queue.question is Question.LABEL and ballot.answer is not None:
        site.test_set(queue.test_set).class_space.index(ballot.answer)


def _item(site: Site, session: Session, queue_id: int, item_id: int) -> tuple[Queue, Item]:
    queue, item = site.queue(queue_id, session.person), site.ledger.item(item_id)
    if item.queue_id != queue.id:
        raise UnknownName("item", str(item_id), None)
    return queue, item
