"""The work pages, one per question, and their API: next item, votes, undo, skips, reports, reference images."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteDep
from regrade.app.causes import Causes, likely_causes
from regrade.app.forms import MAX_ROW_ID, JsonId, PathId, PlainText, StrictForm, StrictRoute
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.references import question_references
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.app.views import image_addresses, item_view
from regrade.core import InputError, MistakeCategory, Severity, TestSet, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Item, Mode, Person, Question, Queue, VoteContent, image_set

router = APIRouter(include_in_schema=False)

REASONS = ("wrong label", "drawing", "edited", "inappropriate")
"""Reasons why an image is problematic."""

REVIEW_REASONS = ("wrong class", "drawing", "edited", "inappropriate", "duplicate")
"""Reasons why an image does not belong in a test set."""

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
    site.images.prepare(site.hiding.test_sets([queue]))
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
    space = site.test_set(queue.test_set).class_space.name
    return page(
        request,
        "judge.html",
        queue=queue,
        space=space,
        proposed=_is_proposed(site, queue),
        reasons=REASONS,
        done=done,
        items=progress.items,
    )


def _is_proposed(site: Site, queue: Queue) -> bool:
    """Whether a queue has proposals of visitors."""
    return queue.id in {link.queue.id for link in site.ledger.proposals.links()}


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


api = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"], route_class=StrictRoute)

MAX_REFERENCES = 100


Key = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[\w-]+$")]


class VoteForm(StrictForm):
    """A vote; ``key`` is a random key that the page creates for each vote, so that it is counted once."""

    item: JsonId
    key: Key
    answer: Annotated[PlainText, Field(min_length=1, max_length=200)]
    severity: Annotated[str | None, Field(max_length=10)] = None
    reason: Annotated[PlainText, Field(max_length=1000)] = ""
    why: Annotated[PlainText, Field(max_length=1000)] = ""
    seconds: Annotated[float | None, Field(ge=0, lt=1e6, strict=True)] = None


class UndoForm(StrictForm):
    """The item whose vote is taken back; ``vote`` is the key of that vote, if the page knows it.

    ``why`` is required once the person could see the other votes.
    """

    key: Key
    item: JsonId
    vote: Key | None = None
    why: Annotated[PlainText, Field(max_length=1000)] = ""


class SkipForm(StrictForm):
    """The item to skip."""

    item: JsonId


class ReportForm(StrictForm):
    """The item whose image cannot be read, and an optional comment."""

    item: JsonId
    comment: Annotated[PlainText, Field(max_length=1000)] = ""


class NextItem(BaseModel):
    """The next item, or None if everything is done, or only ``skipped`` items or those ``held`` back are left.

    ``held`` is a line that says how many items are held back, and why.
    """

    item: dict[str, Any] | None
    skipped: int = 0
    held: str = ""


class LastVote(BaseModel):
    """The item of the person's newest vote, or None, and whether taking the vote back needs a reason."""

    item: dict[str, Any] | None
    revealed: bool = False


class CastVote(BaseModel):
    """The id of the stored vote, and in training the ``feedback`` to it.

    For a mistake, ``suggests`` is the suggestion of the automatic triage. ``revealed`` means that the other votes can
    be seen from now on, so that taking the vote back needs a reason.
    """

    vote: int
    feedback: TrainingFeedback | None = None
    suggests: str | None = None
    revealed: Literal[True] | None = None


@api.get("/next")
def next_item(
    queue_id: PathId, site: SiteDep, session: Labeler, after: Annotated[int | None, Query(ge=1, le=MAX_ROW_ID)] = None
) -> NextItem:
    """The person's next item, or the one after the item ``after``."""
    queue = site.queue(queue_id, session.person)
    given = site.holding.next_item(queue, session.person, after=after)
    if given.item is None:
        skipped = site.ledger.items.count_skipped(queue, session.person)
        return NextItem(item=None, skipped=skipped, held=given.held)
    return NextItem(item=item_view(site, queue, given.item, session.person), held=given.held)


@api.get("/items/{item_id}")
def item_again(queue_id: PathId, item_id: PathId, site: SiteDep, session: Labeler) -> NextItem:
    """The current state of an item, for a page that already shows it or has an unsent answer to it."""
    queue, item = _item(site, session, queue_id, item_id)
    return NextItem(item=item_view(site, queue, item, session.person))


@api.get("/items/{item_id}/causes")
def causes(queue_id: PathId, item_id: PathId, site: SiteDep, session: Reviewer) -> Causes:
    """The likely causes of a mistake, once the person's own answer is stored."""
    queue, item = _item(site, session, queue_id, item_id)
    if queue.question is not Question.MISTAKE:
        raise UnknownName("queue of mistakes", queue.name, None)
    return likely_causes(site, queue, item, session.person)


@api.post("/votes")
def vote(queue_id: PathId, form: VoteForm, site: SiteDep, session: Labeler) -> CastVote:
    """Add a vote; idempotent for the same key."""
    queue, item = _item(site, session, queue_id, form.item)
    content = VoteContent(form.key, form.answer, form.severity, form.reason, form.why, form.seconds)
    check_class(site, queue, content)
    check_seen(site, queue, item, session.person, key=form.key)
    counted = site.ledger.votes.cast(item.id, session.person, content)
    suggests = _suggestion(site, queue, item, session.person)
    feedback = training_feedback(site, queue, item, form.answer, session.person)
    return CastVote(vote=counted.vote.id, feedback=feedback, suggests=suggests, revealed=counted.revealed or None)


@api.get("/last")
def last_vote(queue_id: PathId, site: SiteDep, session: Labeler) -> LastVote:
    """The item of the person's newest vote, which undo refers to."""
    queue = site.queue(queue_id, session.person)
    vote = site.ledger.votes.last(session.person, queue)
    if vote is None:
        return LastVote(item=None)
    _, item = _item(site, session, queue_id, vote.item_id)
    shown = item_view(site, queue, item, session.person)
    return LastVote(item=shown, revealed=site.ledger.votes.is_revealed(vote.item_id, session.person))


@api.post("/undo")
def undo(queue_id: PathId, form: UndoForm, site: SiteDep, session: Labeler) -> NextItem:
    """Take back the person's vote on an item, and return the item."""
    queue, item = _item(site, session, queue_id, form.item)
    site.ledger.votes.retract(item.id, session.person, key=form.key, why=form.why, undone=form.vote)
    return NextItem(item=item_view(site, queue, item, session.person))


@api.post("/skip")
def skip(queue_id: PathId, form: SkipForm, site: SiteDep, session: Labeler) -> NextItem:
    """Defer an item until nothing else is left, and return the next one."""
    _, skipped = _item(site, session, queue_id, form.item)
    site.ledger.items.skip(skipped.id, session.person)
    return next_item(queue_id, site, session)


@api.post("/return-skipped")
def return_skipped(queue_id: PathId, site: SiteDep, session: Labeler) -> NextItem:
    """Put skipped items back into the queue, and return the first."""
    site.ledger.items.return_skipped(site.queue(queue_id, session.person), session.person)
    return next_item(queue_id, site, session)


@api.post("/reports")
def report(queue_id: PathId, form: ReportForm, site: SiteDep, session: Labeler) -> NextItem:
    """Report that the image of an item cannot be read, and return the next item."""
    _, reported = _item(site, session, queue_id, form.item)
    site.reports.add(reported.id, session.person, form.comment)
    return next_item(queue_id, site, session)


@api.get("/references")
def more_references(
    queue_id: PathId, site: SiteDep, session: Labeler, class_id: Annotated[str, Query(max_length=200)]
) -> list[str]:
    """Up to 100 reference images of a class, none of them an image that the queue asks about."""
    queue = site.queue(queue_id, session.person)
    class_index = site.test_set(queue.test_set).class_space.index(class_id)
    return question_references(site, queue, site.hidden_from(session.person), class_index, count=MAX_REFERENCES)


def check_class(site: Site, queue: Queue, content: VoteContent) -> None:
    """Raise if a label is not a class of the test set."""
    if queue.question is Question.LABEL and content.answer is not None:
        site.test_set(queue.test_set).class_space.index(content.answer)


def check_seen(site: Site, queue: Queue, item: Item, person: Person, *, key: str) -> None:
    """Raise if the image could not be shown to the person; a vote that is stored already stays valid."""
    addresses = image_addresses(site, queue, item)
    is_unseen = any(address is None or site.unseen.has(person, address) for address in addresses)
    if is_unseen and not site.ledger.votes.has_key(key):
        raise InputError("the image could not be shown to you, so you cannot vote on it: report it as unreadable")


def _suggestion(site: Site, queue: Queue, item: Item, person: Person) -> str | None:
    """The suggestion of the triage for a mistake, unless the person still has to answer about the image elsewhere."""
    if queue.question is not Question.MISTAKE:
        return None
    test_set = site.test_set(queue.test_set)
    pending = site.hidden_from(person).asking(test_set, test_set.position(item.example))
    return None if pending else site.suggestions.of(queue, item)


def _item(site: Site, session: Session, queue_id: int, item_id: int) -> tuple[Queue, Item]:
    return site.item(queue_id, item_id, session.person)


class TrainingFeedback(BaseModel):
    """The outcome of an answer, and the ids of the right classes."""

    outcome: Literal["right", "unclear", "wrong", "unknown", "withheld"]
    right: list[str]


def training_feedback(site: Site, queue: Queue, item: Item, answer: str, person: Person) -> TrainingFeedback | None:
    """The feedback to a person's answer in training; None elsewhere."""
    if queue.question is not Question.LABEL or queue.mode is not Mode.TRAINING:
        return None
    return feedback_on(site, queue, item, answer, site.hidden_from(person))


def feedback_on(site: Site, queue: Queue, item: Item, answer: str, hidden: HiddenImages) -> TrainingFeedback:
    """Compare an answer with the queue's label set if it has one, else with the original labels.

    Classes that people cannot tell from a right one count as right; without a label, the outcome is unknown. Labels of
    an image that the person still has to answer about in another queue, among the ``hidden`` ones, are withheld.
    """
    test_set = site.test_set(image_set(queue, item.class_id))
    space, position = test_set.class_space, test_set.position(item.example)
    if hidden.asking(test_set, position):
        return TrainingFeedback(outcome="withheld", right=[])
    right, unclear = _right_and_unclear(site, queue, test_set, position)
    answered = space.index(answer)
    ids = [space.ids[index] for index in right]
    if not right:
        return TrainingFeedback(outcome="unknown", right=ids)
    if answered in right or any(answered in space.collapsed.get(index, ()) for index in right):
        return TrainingFeedback(outcome="right", right=ids)
    return TrainingFeedback(outcome="unclear" if answered in unclear else "wrong", right=ids)


def _right_and_unclear(
    site: Site, queue: Queue, test_set: TestSet, position: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if queue.labels:
        labels = site.label_index(test_set.name, queue.labels).of(position)
        return (() if labels.problematic else labels.correct), labels.unclear
    label = int(test_set.labels[position])
    return ((label,) if label >= 0 else ()), ()
