"""What the pages of work call: the next item, a vote, undo, skips, unreadable images, and more images of a class."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, SiteHere
from regrade.app.forms import StrictForm, StrictRoute
from regrade.app.number_parsing import LARGEST, JsonNumber, PathNumber
from regrade.app.plain_text import PlainText
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.app.training import TrainingFeedback, told_after
from regrade.app.views import image_address, item_view, references
from regrade.core import InputError
from regrade.core.panel import Answer
from regrade.ledger import Item, Person, Question, Queue, VoteContent

router = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"], route_class=StrictRoute)

MOST_REFERENCES = 100


Key = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[\w-]+$")]


class VoteForm(StrictForm):
    """A ballot as a page sends it; ``key`` is made up by the page, once for each vote."""

    item: JsonNumber
    key: Key
    answer: Annotated[PlainText, Field(min_length=1, max_length=200)]
    severity: Annotated[str | None, Field(max_length=10)] = None
    reason: Annotated[PlainText, Field(max_length=1000)] = ""
    why: Annotated[PlainText, Field(max_length=1000)] = ""
    seconds: Annotated[float | None, Field(ge=0, lt=1e6, strict=True)] = None


class UndoForm(StrictForm):
    """The item whose vote is taken back; ``vote`` is the key it was sent with, if the page knows it.

    Once the others' votes could be seen, ``why`` is needed.
    """

    key: Key
    item: JsonNumber
    vote: Key | None = None
    why: Annotated[PlainText, Field(max_length=1000)] = ""


class SkipForm(StrictForm):
    """Which item to skip."""

    item: JsonNumber


class ReportForm(StrictForm):
    """Which item has an image that cannot be read, and a comment, if there is one."""

    item: JsonNumber
    comment: Annotated[PlainText, Field(max_length=1000)] = ""


class NextItem(BaseModel):
    """What comes next, or nothing where all is done or only ``skipped`` items are left."""

    item: dict[str, Any] | None
    skipped: int = 0


class LastVote(BaseModel):
    """The item of someone's newest vote, if there is one, and whether taking the vote back needs a reason."""

    item: dict[str, Any] | None
    revealed: bool = False


class CastVote(BaseModel):
    """The vote's number in the ledger: it is there, whatever happens now. In training, what is told of it.

    Of a mistake, what the automatic triage ``suggests``. Where the others' votes can be seen from now on, the vote is
    ``revealed``: taking it back needs a reason.
    """

    vote: int
    told: TrainingFeedback | None = None
    suggests: str | None = None
    revealed: Literal[True] | None = None


@router.get("/next")
def next_item(
    queue_id: PathNumber, site: SiteHere, session: Labeler, after: Annotated[int | None, Query(ge=1, le=LARGEST)] = None
) -> NextItem:
    """The next item for whoever asks, or the one after that which they have before them."""
    queue = site.queue(queue_id, session.person)
    found = site.ledger.next_item(queue, session.person, after=after)
    if found is None:
        return NextItem(item=None, skipped=site.ledger.skipped(queue, session.person))
    return NextItem(item=item_view(site, queue, found, session.person))


@router.get("/items/{item_id}")
def item_again(queue_id: PathNumber, item_id: PathNumber, site: SiteHere, session: Labeler) -> NextItem:
    """An item again, as it is now: for a page that shows it already, or that has an unsent answer to it."""
    queue, item = _item(site, session, queue_id, item_id)
    return NextItem(item=item_view(site, queue, item, session.person))


@router.post("/votes")
def vote(queue_id: PathNumber, form: VoteForm, site: SiteHere, session: Labeler) -> CastVote:
    """Add a vote; the same one a second time changes nothing."""
    queue, item = _item(site, session, queue_id, form.item)
    ballot = VoteContent(form.key, form.answer, form.severity, form.reason, form.why, form.seconds)
    check_class(site, queue, ballot)
    check_reason(queue, ballot)
    check_seen(site, queue, item, session.person, key=form.key)
    counted = site.ledger.cast_vote(item.id, session.person, ballot)
    suggests = site.suggestions.of(queue, item) if queue.question is Question.MISTAKE else None
    told = told_after(site, queue, item, form.answer, session.person)
    return CastVote(vote=counted.vote.id, told=told, suggests=suggests, revealed=counted.revealed or None)


@router.get("/last")
def last_vote(queue_id: PathNumber, site: SiteHere, session: Labeler) -> LastVote:
    """The item that undo is about: that of one's newest vote."""
    queue = site.queue(queue_id, session.person)
    vote = site.ledger.last_vote_of(session.person, queue)
    if vote is None:
        return LastVote(item=None)
    shown = item_view(site, queue, site.ledger.item(vote.item_id), session.person)
    return LastVote(item=shown, revealed=site.ledger.is_revealed(vote.item_id, session.person))


@router.post("/undo")
def undo(queue_id: PathNumber, form: UndoForm, site: SiteHere, session: Labeler) -> NextItem:
    """Take back one's vote on an item, and get the item again."""
    queue, item = _item(site, session, queue_id, form.item)
    site.ledger.take_back(item.id, session.person, key=form.key, why=form.why, undone=form.vote)
    return NextItem(item=item_view(site, queue, item, session.person))


@router.post("/skip")
def skip(queue_id: PathNumber, form: SkipForm, site: SiteHere, session: Labeler) -> NextItem:
    """Put an item off until nothing else is left, and get the next one."""
    _, skipped = _item(site, session, queue_id, form.item)
    site.ledger.skip(skipped.id, session.person)
    return next_item(queue_id, site, session)


@router.post("/return-skipped")
def return_skipped(queue_id: PathNumber, site: SiteHere, session: Labeler) -> NextItem:
    """Have what one skipped again, and get the first of it."""
    site.ledger.return_skipped(site.queue(queue_id, session.person), session.person)
    return next_item(queue_id, site, session)


@router.post("/reports")
def report(queue_id: PathNumber, form: ReportForm, site: SiteHere, session: Labeler) -> NextItem:
    """Report that the image of an item cannot be read, and get the next item."""
    _, reported = _item(site, session, queue_id, form.item)
    site.reports.add(reported.id, session.person, form.comment)
    return next_item(queue_id, site, session)


@router.get("/references")
def more_references(
    queue_id: PathNumber, site: SiteHere, session: Labeler, class_id: Annotated[str, Query(max_length=200)]
) -> list[str]:
    """Up to a hundred images of a class, none from the test set that is asked about."""
    queue = site.queue(queue_id, session.person)
    index = site.test_set(queue.test_set).class_space.index(class_id)
    examinations, hidden = site.ledger.examinations(), site.hidden_from(session.person)
    return references(site, queue, hidden, index, examinations=examinations, count=MOST_REFERENCES)


def check_class(site: Site, queue: Queue, ballot: VoteContent) -> None:
    """Raise where a label is no class of the test set."""
    if queue.question is Question.LABEL and ballot.answer is not None:
        site.test_set(queue.test_set).class_space.index(ballot.answer)


def check_reason(queue: Queue, ballot: VoteContent) -> None:
    """Raise where an image is called problematic without a reason."""
    if queue.question is Question.JUDGE and ballot.answer == Answer.PROBLEMATIC.value and not ballot.reason.strip():
        raise InputError("say why the image is problematic: this vote needs a reason")


def check_seen(site: Site, queue: Queue, item: Item, person: Person, *, key: str) -> None:
    """Raise where someone votes on an image that could not be shown to them; a vote counted before stays one."""
    address = image_address(site, queue, item)
    if (address is None or site.unseen.has(person, address)) and not site.ledger.has_vote(key):
        raise InputError("the image could not be shown to you: a vote counts only when the image can be seen")


def _item(site: Site, session: Session, queue_id: int, item_id: int) -> tuple[Queue, Item]:
    return site.ledger.item_for(session.person, queue_id, item_id)
