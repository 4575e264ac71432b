"""Review: the classes of a build's newest revision, and all images of one class on a page, to be kept or flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, SiteDep
from regrade.app.class_review import ReviewedClass, RevisionUnderReview, class_progress, next_class
from regrade.app.forms import JsonId, PathId, PlainText, StrictForm, StrictRoute
from regrade.app.pages import page
from regrade.app.references import reference_addresses
from regrade.app.routes.work import REVIEW_REASONS, Key, check_seen
from regrade.app.site import Site
from regrade.app.views import class_view, image_address
from regrade.core import InputError, UnknownName
from regrade.core.panel import Fitness
from regrade.ledger import ItemStanding, OpenItem, Person, Question, Queue, Role, VoteContent

router = APIRouter(include_in_schema=False)

_REFERENCES = 24  # reference images next to the images of a class


@dataclass(frozen=True)
class ReviewQueue:
    """The review queue of a build, its newest revision, and the person who reviews it."""

    site: Site
    person: Person
    queue: Queue
    revision: RevisionUnderReview

    def progress(self) -> list[ReviewedClass]:
        """The progress of every class."""
        standings = self.site.ledger.discussions.standings(self.queue, self.person)
        return class_progress(self.revision, standings, self.site.test_set(self.queue.test_set).class_space)

    def standings(self, class_id: str) -> list[ItemStanding]:
        """The items of a class whose images are in the newest revision, in its order."""
        of_class = self.site.ledger.discussions.standings(self.queue, self.person, class_id=class_id)
        by_image = {row.item.example: row for row in of_class}
        return [by_image[image] for image in self.revision.images.get(class_id, ()) if image in by_image]

    def address(self, class_id: str | None = None) -> str:
        """The URL of a class, or of the list of classes."""
        return f"/review/{self.queue.id}" + ("" if class_id is None else f"/{quote(class_id)}")

    def following(self, rows: Sequence[ReviewedClass], after: str = "") -> str | None:
        """The URL of the next class with open images; None if there is none."""
        class_id = next_class(rows, self.queue, self.person, after=after)
        return None if class_id is None else self.address(class_id)


def _review_queue(queue_id: PathId, site: SiteDep, session: Labeler) -> ReviewQueue:
    queue = site.queue(queue_id, session.person)
    if queue.question is not Question.REVIEW or not queue.build:
        raise UnknownName("queue of a build's review", queue.name, None)
    return ReviewQueue(site, session.person, queue, site.revisions.newest(queue.build))


ReviewQueueDep = Annotated[ReviewQueue, Depends(_review_queue)]


@router.get("/review/{queue_id}")
def review(request: Request, review: ReviewQueueDep, show: Literal["open", "all"] | None = None) -> Response:
    """The classes with their progress, what changed in the newest revision, and the convergence curve."""
    rows = review.progress()
    open_rows = [row for row in rows if row.open]
    shown = show or ("open" if open_rows else "all")
    return page(
        request, "review.html", review=review, queue=review.queue, revision=review.revision, rows=rows,
        open_rows=open_rows, show=shown, listed=open_rows if shown == "open" else rows,
        following=review.following(rows), reviews=review.person.role is not Role.LABELER,
    )  # fmt: skip


@router.get("/review/{queue_id}/{class_id:path}")
def review_class(class_id: str, request: Request, review: ReviewQueueDep) -> Response:
    """All images of a class in the newest revision, next to reference images of the class."""
    site, queue = review.site, review.queue
    space = site.test_set(queue.test_set).class_space
    index = space.index(class_id)
    if class_id not in review.revision.images:
        raise UnknownName(f"class of revision {review.revision.row.number}", class_id, None)
    rows, hidden = review.progress(), site.hiding.with_all_of(site.hidden_from(review.person), queue)
    place = [row.class_id for row in rows].index(class_id)
    return page(
        request, "review_class.html", review=review, queue=queue, shown=class_view(space, index),
        reasons=REVIEW_REASONS, tiles=_tiles(review, review.standings(class_id)), progress=rows[place],
        number=place + 1, count=len(rows),
        references=reference_addresses(site, hidden, space, index, sets=[review.revision.reference], count=_REFERENCES),
        guide=f"/guide/{quote(space.name, safe='')}/{quote(class_id)}", following=review.following(rows, class_id),
    )  # fmt: skip


def _tiles(review: ReviewQueue, standings: Sequence[ItemStanding]) -> list[dict[str, Any]]:
    """The images with what the person may know about each; without those that they still have to label."""
    site, queue = review.site, review.queue
    test_set = site.test_set(queue.test_set)
    positions = {row.item.id: test_set.position(row.item.example) for row in standings}
    visible = set(site.hidden_from(review.person).to_label().visible(test_set, positions.values()))
    votes = {} if review.person.role is Role.LABELER else _votes_of_others(review, standings)
    tiles = []
    for row in standings:
        shown = positions[row.item.id] in visible
        by, reason = votes.get(row.item.id, ("", ""))
        state = _state(row) if shown else "unlabeled"
        tiles.append(
            {
                "item": row.item.id,
                "image": image_address(site, queue, row.item) if shown else None,
                "state": state,
                "answer": row.own or (row.decision if by else ""),
                "reason": row.reason if row.own else reason,
                "by": by,
                "decision": row.decision if row.own and row.decision != row.own else "",
                "fixed": row.locked or state != "own",
            }
        )
    return tiles


def _state(row: ItemStanding) -> str:
    """How the page treats an image: to vote on, voted on by this person, reported by them, or reviewed by others."""
    return "open" if row.open else "own" if row.own else "reported" if row.reported else "others"


def _votes_of_others(review: ReviewQueue, standings: Sequence[ItemStanding]) -> dict[int, tuple[str, str]]:
    """Who voted on items that no vote is missing on, and the reason for the decision."""
    people = {person.id: person.name for person in review.site.ledger.people.all()}
    items = [row.item for row in standings if not row.own and row.item.missing <= 0]
    topics = review.site.ledger.discussions.topics(OpenItem(item.id, item.example, item.class_id) for item in items)
    return {
        topic.item.id: (
            ", ".join(people[vote.person_id] for vote in topic.votes),
            next((vote.reason for vote in topic.votes if topic.decision and vote.answer == topic.decision.answer), ""),
        )
        for topic in topics
    }


api = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"], route_class=StrictRoute)

_Reason = Annotated[PlainText, Field(max_length=1000)]


class FlaggedImage(StrictForm):
    """An item that is flagged, and the reason."""

    item: JsonId
    reason: _Reason


class ChangedVote(StrictForm):
    """An item on which the person changes their vote: the new answer, and why."""

    item: JsonId
    answer: Fitness
    reason: _Reason = ""
    why: _Reason


class ClassVotes(StrictForm):
    """All votes of a person on a class; ``key`` is random, so that a form that arrives twice counts once."""

    key: Annotated[Key, Field(max_length=48)]
    class_id: Annotated[str, Field(min_length=1, max_length=200)]
    kept: tuple[JsonId, ...] = ()
    flagged: tuple[FlaggedImage, ...] = ()
    changed: tuple[ChangedVote, ...] = ()
    seconds: Annotated[float | None, Field(ge=0, lt=1e6, strict=True)] = None

    def contents(self) -> dict[int, VoteContent]:
        """The vote on each item; raises if there are two on one, or none at all."""
        count = len(self.kept) + len(self.flagged) + len(self.changed)
        seconds = None if self.seconds is None else self.seconds / max(1, count)

        def content(item: int, answer: Fitness, reason: str = "", why: str = "") -> VoteContent:
            return VoteContent(f"{self.key}-{item}", answer.value, reason=reason, why=why, seconds=seconds)

        contents = {item: content(item, Fitness.KEEP) for item in self.kept}
        contents |= {row.item: content(row.item, Fitness.PROBLEMATIC, row.reason) for row in self.flagged}
        contents |= {row.item: content(row.item, row.answer, row.reason, row.why) for row in self.changed}
        if not contents or len(contents) != count:
            raise InputError("there are no votes to submit" if not count else "an image has two votes")
        return contents


class StoredClass(BaseModel):
    """The number of votes that were stored, the items that others decided before, and where to go on."""

    stored: int
    decided_before: list[int]
    following: str


@api.post("/class-votes")
def submit_class(form: ClassVotes, review: ReviewQueueDep) -> StoredClass:
    """Cast all votes on a class in one transaction; idempotent for the same key."""
    site, contents = review.site, form.contents()
    items = {row.item.id: row.item for row in review.standings(form.class_id)}
    for item_id, content in contents.items():
        if item_id not in items:
            raise UnknownName("item of this class", str(item_id), None)
        site.holding.check(review.queue, items[item_id], review.person)
        check_seen(site, review.queue, items[item_id], review.person, key=content.key)
    before = site.ledger.votes.cast_all(review.person, contents)
    following = review.following(review.progress(), form.class_id) or review.address()
    return StoredClass(stored=len(contents) - len(before), decided_before=list(before), following=following)
