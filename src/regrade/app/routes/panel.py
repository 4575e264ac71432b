"""Panel: what waits for discussion and what was decided, and the page on which one item is talked over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.pages import page
from regrade.app.panel_access import DeskHere, PanelQueue, SubjectHere, WantedHere
from regrade.app.routes.judge import REASONS
from regrade.app.routes.mistake import CATEGORIES, OVERTURNED
from regrade.app.views import item_view, score_words
from regrade.core import InputError, Severity
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import ANSWERS, Question, Queue, Role, Stage, Topic, TopicFilter
from regrade.workspace import RunningReview

router = APIRouter(include_in_schema=False)

PAGE = 60
"""Items on one page of the list."""


@router.get("/panel/{queue_id}")
def panel(
    request: Request,
    desk: DeskHere,
    wanted: WantedHere,
    number: Annotated[int, Query(alias="page", ge=1, lt=2**20)] = 1,
) -> Response:
    """What waits for discussion, or what was decided."""
    queue, found = desk.queue, desk.discussions
    counts = {stage: found.count(queue, TopicFilter(stage)) for stage in Stage}
    filtered = wanted != TopicFilter(wanted.stage)
    matching = found.count(queue, wanted) if filtered else counts[wanted.stage]
    pages = max(1, -(-matching // PAGE))
    here = min(number, pages)
    topics = found.topics(queue, wanted, start=(here - 1) * PAGE, count=PAGE)
    return page(
        request,
        "panel.html",
        queue=queue,
        wanted=wanted,
        filtered=filtered,
        stages={stage: (counts[stage], address(queue, TopicFilter(stage))) for stage in Stage},
        classes=_class_names(desk, found.classes(queue, wanted.stage)),
        answers=ANSWERS[queue.question],
        people={one.id: one.name for one in desk.site.ledger.people()},
        cards=[_card(desk, wanted, topic) for topic in _discussable(desk, topics)],
        matching=matching,
        here=here,
        pages=pages,
        before=address(queue, wanted, page=here - 1) if here > 1 else "",
        after=address(queue, wanted, page=here + 1) if here < pages else "",
        running=_running(desk),
    )


def _running(desk: PanelQueue) -> RunningReview | None:
    """Accuracies so far, for owners who have no image of the test set left to label.

    They rest on decided items only, which no one is asked about any more.
    """
    queue = desk.queue
    if desk.person.role is not Role.OWNER or queue.question is not Question.JUDGE or not queue.labels:
        return None
    test_set = desk.site.test_set(queue.test_set)
    if desk.site.unlabeled(desk.person).mask(test_set).any():
        return None
    try:
        return desk.site.workspace.running_review(queue.name)
    except InputError:
        return None


@router.get("/panel/{queue_id}/{item_id}")
def discuss(request: Request, subject: SubjectHere, wanted: WantedHere) -> Response:
    """One item: vote, see what the others say, discuss, lock."""
    site, queue, item = subject.site, subject.queue, subject.item
    mistake = queue.question is Question.MISTAKE
    return page(
        request,
        "panel_item.html",
        queue=queue,
        item=item,
        wanted=wanted,
        shown=item_view(site, queue, item, subject.person),
        score=score_words(site, queue, item, all_voted=item.missing <= 0),
        mistake=mistake,
        categories=CATEGORIES,
        severities=[one.value for one in Severity],
        no_mistake=NO_MISTAKE,
        reasons=OVERTURNED if mistake else REASONS,
        everything=address(queue, wanted),
        previous=address(queue, wanted, item.id, "previous"),
        following=address(queue, wanted, item.id, "next"),
    )


@router.get("/panel/{queue_id}/{item_id}/next")
def following(subject: SubjectHere, wanted: WantedHere) -> Response:
    """Go to the item after this one, or back to the list after the last."""
    return _to(subject.queue, wanted, subject.discussions.after(subject.item.id, wanted))


@router.get("/panel/{queue_id}/{item_id}/previous")
def previous(subject: SubjectHere, wanted: WantedHere) -> Response:
    """Go to the item before this one, or back to the list before the first."""
    return _to(subject.queue, wanted, subject.discussions.before(subject.item.id, wanted))


def address(queue: Queue, wanted: TopicFilter, *parts: int | str, **more: int) -> str:
    """Where the list is, or one item of it; the filters stand in it."""
    place = "/".join(["/panel", str(queue.id), *map(str, parts)])
    show = wanted.stage.value if wanted.stage is not Stage.DISPUTED else ""
    chosen = {"show": show, "class": wanted.class_id, "answer": wanted.answer, **more}
    query = urlencode({name: value for name, value in chosen.items() if value})
    return f"{place}?{query}" if query else place


def _to(queue: Queue, wanted: TopicFilter, item_id: int | None) -> Response:
    return RedirectResponse(address(queue, wanted) if item_id is None else address(queue, wanted, item_id), 303)


def _discussable(desk: PanelQueue, topics: Iterable[Topic]) -> list[Topic]:
    """The topics without those about images that someone still has to label."""
    hidden, test_set = desk.site.unlabeled(desk.person), desk.site.test_set(desk.queue.test_set)
    return [topic for topic in topics if not hidden.asking(test_set, test_set.position(topic.item.example))]


def _card(desk: PanelQueue, wanted: TopicFilter, topic: Topic) -> dict[str, Any]:
    test_set = desk.site.test_set(desk.queue.test_set)
    space = test_set.class_space
    return {
        "topic": topic,
        "address": address(desk.queue, wanted, topic.item.id),
        "image": desk.site.images.address_in_queue(test_set.name, test_set.position(topic.item.example), desk.queue.id),
        "class_name": space.names[space.index(topic.item.class_id)],
    }


def _class_names(desk: PanelQueue, counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """The classes that items ask about: id, name and how many, by name."""
    space = desk.site.test_set(desk.queue.test_set).class_space
    named = [(one, space.names[space.index(one)], count) for one, count in counts.items()]
    return sorted(named, key=lambda one: one[1])
