"""Panel: the list of open and decided items, and the page on which one item is discussed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import Reviewer, SiteDep
from regrade.app.forms import PathId, PlainText
from regrade.app.hidden_images import HiddenImages, PendingQueue
from regrade.app.pages import page
from regrade.app.routes.work import CATEGORIES, OVERTURNED, REASONS, REVIEW_REASONS
from regrade.app.site import Site
from regrade.app.views import image_addresses, item_view, score_text
from regrade.core import InputError, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import (
    Discussions,
    ExpertQuestion,
    Item,
    OpenItem,
    Person,
    Question,
    Queue,
    Role,
    Stage,
    Topic,
    TopicFilter,
)
from regrade.workspace import RunningReview


@dataclass(frozen=True)
class PanelQueue:
    """A queue that a panel decides, and the person who looks at it."""

    site: Site
    person: Person
    queue: Queue

    @cached_property
    def hidden(self) -> HiddenImages:
        """The images that the person still has to answer about, in any queue."""
        return self.site.hidden_from(self.person)

    @cached_property
    def unlabeled(self) -> HiddenImages:
        """The images that the person still has to label."""
        return self.hidden.to_label()

    def hiding(self, item: Item) -> HiddenImages:
        """The images among which an item's image must not be for the person to see the item.

        While its votes are missing, an item shows no vote but their own: then only images still to be labeled count.
        """
        return self.hidden if item.missing <= 0 else self.unlabeled

    def asking(self, item: Item | OpenItem, hidden: HiddenImages) -> tuple[PendingQueue, ...]:
        """The queues in which the person has to answer about an item's image first."""
        return self.site.holding.asking(hidden, self.queue, item)

    @property
    def discussions(self) -> Discussions:
        """The discussions of the ledger."""
        return self.site.ledger.discussions


@dataclass(frozen=True)
class PanelItem(PanelQueue):
    """An item of the queue, and the person who looks at it."""

    item: Item


def _panel_queue(queue_id: PathId, site: SiteDep, session: Reviewer) -> PanelQueue:
    queue = site.queue(queue_id, session.person)
    if not queue.question.decided:
        raise UnknownName("queue of a panel", queue.name, None)
    return PanelQueue(site, session.person, queue)


def _item(item_id: PathId, panel: Annotated[PanelQueue, Depends(_panel_queue)]) -> PanelItem:
    item = panel.site.ledger.items.with_id(item_id)
    if item.queue_id != panel.queue.id:
        raise UnknownName("item", str(item_id), None)
    return PanelItem(panel.site, panel.person, panel.queue, item)


def _question(panel_item: Annotated[PanelItem, Depends(_item)]) -> PanelItem:
    """An item without its votes: refused only if the person still has to label the image."""
    _check_answered(panel_item.asking(panel_item.item, panel_item.unlabeled))
    return panel_item


def _panel_item(panel_item: Annotated[PanelItem, Depends(_item)]) -> PanelItem:
    """An item with its votes, if the person has answered about the image in all their queues."""
    _check_answered(panel_item.asking(panel_item.item, panel_item.hiding(panel_item.item)))
    return panel_item


def _check_answered(asking: Sequence[PendingQueue]) -> None:
    for pending in asking:
        name = repr(pending.queue.name)
        if pending.queue.question is Question.LABEL:
            raise HTTPException(403, f"you still have to label this image in {name}: label it there first")
        if pending.until_all:
            raise HTTPException(403, f"not all have voted on this image in {name} yet: its votes are shown then")
        raise HTTPException(403, f"you still have to answer about this image in {name}: answer there first")


def _topic_filter(
    show: Stage = Stage.DISPUTED,
    class_id: Annotated[PlainText, Query(alias="class", max_length=200)] = "",
    answer: Annotated[PlainText, Query(max_length=200)] = "",
) -> TopicFilter:
    return TopicFilter(show, class_id, answer)


PanelQueueDep = Annotated[PanelQueue, Depends(_panel_queue)]
PanelItemDep = Annotated[PanelItem, Depends(_panel_item)]
PanelQuestionDep = Annotated[PanelItem, Depends(_question)]
TopicFilterDep = Annotated[TopicFilter, Depends(_topic_filter)]


@dataclass(frozen=True)
class OpenQuestion:
    """A question to the person as an expert, with the name of the class that it is about and the URL of its item."""

    queue: Queue
    question: ExpertQuestion
    class_name: str
    address: str


def open_questions(site: Site, expert: Person) -> list[OpenQuestion]:
    """The open questions to a person as an expert; without those about images that they still have to answer about."""
    questions = site.ledger.experts.open_for(expert)
    panels = [(PanelQueue(site, expert, queue), question) for queue, question in questions]
    return [
        OpenQuestion(
            panel.queue,
            question,
            _name_of(panel, question.item),
            address(panel.queue, TopicFilter(), question.item.id),
        )
        for panel, question in panels
        if not panel.asking(question.item, panel.hiding(question.item))
    ]


def _name_of(panel: PanelQueue, item: Item) -> str:
    """What an item is called: its class, or the number of a pair."""
    if panel.queue.question is Question.PAIR:
        return f"Pair {item.id}"
    space = panel.site.test_set(panel.queue.test_set).class_space
    return space.names[space.index(item.class_id)]


router = APIRouter(include_in_schema=False)

_REASONS = {Question.JUDGE: REASONS, Question.MISTAKE: OVERTURNED, Question.REVIEW: REVIEW_REASONS}

PAGE_SIZE = 60
"""Items per page of the list."""


@router.get("/panel/{queue_id}")
def panel_list(
    request: Request,
    panel: PanelQueueDep,
    topic_filter: TopicFilterDep,
    number: Annotated[int, Query(alias="page", ge=1, lt=2**20)] = 1,
) -> Response:
    """The list of open or decided items."""
    queue, discussions = panel.queue, panel.discussions
    items = {stage: discussions.items(queue, TopicFilter(stage)) for stage in Stage}
    filtered = topic_filter != TopicFilter(topic_filter.stage)
    matching, shown = _visible_page(
        panel, discussions.items(queue, topic_filter) if filtered else items[topic_filter.stage], number
    )
    visible = {stage: visible_items(panel.site, queue, panel.hidden, items[stage]) for stage in Stage}
    pages = _pages(matching)
    page_number = min(number, pages)
    return page(
        request,
        "panel.html",
        queue=queue,
        topic_filter=topic_filter,
        filtered=filtered,
        stages={stage: (len(visible[stage]), address(queue, TopicFilter(stage))) for stage in Stage},
        classes=_class_names(panel, Counter(item.class_id for item in visible[topic_filter.stage])),
        answers=queue.question.answers,
        people={person.id: person.name for person in panel.site.ledger.people.all()},
        tiles=[_tile(panel, topic_filter, topic) for topic in discussions.topics(shown)],
        matching=len(matching),
        page_number=page_number,
        pages=pages,
        before=address(queue, topic_filter, page=page_number - 1) if page_number > 1 else "",
        after=address(queue, topic_filter, page=page_number + 1) if page_number < pages else "",
        running=_running_review(panel),
        asked=[entry for entry in open_questions(panel.site, panel.person) if entry.queue.id == queue.id],
    )


def visible_items(site: Site, queue: Queue, hidden: HiddenImages, items: Sequence[OpenItem]) -> Sequence[OpenItem]:
    """The items of a queue without those about images that are known to be hidden."""
    test_set = site.test_set(queue.test_set)
    examples = {test_set.ids[position] for position in np.flatnonzero(hidden.mask(test_set)).tolist()}
    return [item for item in items if item.example not in examples] if examples else items


def _visible_page(
    panel: PanelQueue, items: Sequence[OpenItem], number: int
) -> tuple[Sequence[OpenItem], list[OpenItem]]:
    """The items that the person sees, and those on a page of them; the last page for larger numbers."""
    test_set = panel.site.test_set(panel.queue.test_set)

    def on_page(visible: Sequence[OpenItem]) -> Sequence[OpenItem]:
        start = (min(number, _pages(visible)) - 1) * PAGE_SIZE
        return visible[start : start + PAGE_SIZE]

    matching = panel.hidden.choose_visible(
        test_set,
        lambda _: visible_items(panel.site, panel.queue, panel.hidden, items),
        lambda visible: [test_set.position(item.example) for item in on_page(visible)],
    )
    seen = visible_items(panel.site, panel.queue, panel.hidden, on_page(matching))
    if panel.queue.question is Question.PAIR:  # whose second images may be of another test set
        seen = [item for item in seen if not panel.asking(item, panel.hidden)]
    return matching, list(seen)


def _pages(items: Sequence[OpenItem]) -> int:
    """Number of pages, at least one."""
    return max(1, -(-len(items) // PAGE_SIZE))


def _running_review(panel: PanelQueue) -> RunningReview | None:
    """Interim accuracies, for owners who have no image of the test set left to label.

    They use decided items only, which no one has to answer any more.
    """
    queue = panel.queue
    if panel.person.role is not Role.OWNER or queue.question is not Question.JUDGE or not queue.labels:
        return None
    test_set = panel.site.test_set(queue.test_set)
    if panel.unlabeled.mask(test_set).any():
        return None
    try:
        return panel.site.workspace.review.running_review(queue.name)
    except InputError:
        return None


@router.get("/panel/{queue_id}/{item_id}")
def panel_item_page(request: Request, panel_item: PanelItemDep, topic_filter: TopicFilterDep) -> Response:
    """The page of one item: vote, see the other votes, discuss, lock."""
    site, queue, item = panel_item.site, panel_item.queue, panel_item.item
    mistake, pair = queue.question is Question.MISTAKE, queue.question is Question.PAIR
    return page(
        request,
        "panel_item.html",
        experts=site.ledger.experts.experts(queue, panel_item.person, site.ledger.people.all()),
        queue=queue,
        item=item,
        topic_filter=topic_filter,
        shown=item_view(site, queue, item, panel_item.person),
        score=score_text(site, queue, item, all_voted=item.missing <= 0),
        proposed=_is_proposed(panel_item),
        mistake=mistake,
        pair=pair,
        categories=CATEGORIES,
        severities=[severity.value for severity in Severity],
        no_mistake=NO_MISTAKE,
        reasons=_REASONS.get(queue.question, ()),
        everything=address(queue, topic_filter),
        previous=address(queue, topic_filter, item.id, "previous"),
        following=address(queue, topic_filter, item.id, "next"),
    )


def _is_proposed(panel_item: PanelItem) -> bool:
    """Whether proposals may be shown: those of visitors after one's own vote, those of colleagues after all votes."""
    stored = panel_item.site.ledger.proposals.of_item(panel_item.item.id)
    return any(proposal.person is None or panel_item.item.missing <= 0 for proposal in stored)


@router.get("/panel/{queue_id}/{item_id}/next")
def following(panel_item: PanelItemDep, topic_filter: TopicFilterDep) -> Response:
    """Redirect to the next item, or to the list after the last item."""
    return _redirect_along(panel_item, topic_filter, panel_item.discussions.after)


@router.get("/panel/{queue_id}/{item_id}/previous")
def previous(panel_item: PanelItemDep, topic_filter: TopicFilterDep) -> Response:
    """Redirect to the previous item, or to the list before the first item."""
    return _redirect_along(panel_item, topic_filter, panel_item.discussions.before)


def _redirect_along(
    panel_item: PanelItem, topic_filter: TopicFilter, step: Callable[[int, TopicFilter], int | None]
) -> Response:
    """Redirect to the nearest item that the person may see, or to the list if there is none."""
    item_id = step(panel_item.item.id, topic_filter)
    while item_id is not None and _is_hidden(panel_item, panel_item.site.ledger.items.with_id(item_id)):
        item_id = step(item_id, topic_filter)
    return RedirectResponse(address(panel_item.queue, topic_filter, *(() if item_id is None else (item_id,))), 303)


def _is_hidden(panel: PanelQueue, item: Item) -> bool:
    return bool(panel.asking(item, panel.hiding(item)))


def address(queue: Queue, topic_filter: TopicFilter, *parts: int | str, **more: int) -> str:
    """The URL of the list or of one item, with the filter as query."""
    path = "/".join(["/panel", str(queue.id), *map(str, parts)])
    show = topic_filter.stage.value if topic_filter.stage is not Stage.DISPUTED else ""
    parameters = {"show": show, "class": topic_filter.class_id, "answer": topic_filter.answer, **more}
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"{path}?{query}" if query else path


def _tile(panel: PanelQueue, topic_filter: TopicFilter, topic: Topic) -> dict[str, Any]:
    queue, space = panel.queue, panel.site.test_set(panel.queue.test_set).class_space
    is_pair = queue.question is Question.PAIR
    return {
        "topic": topic,
        "address": address(queue, topic_filter, topic.item.id),
        "images": image_addresses(panel.site, queue, topic.item),
        "name": f"Pair {topic.item.id}" if is_pair else space.names[space.index(topic.item.class_id)],
    }


def _class_names(panel: PanelQueue, counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """The classes of the items as (id, name, count), sorted by name; pairs have none."""
    if panel.queue.question is Question.PAIR:
        return []
    space = panel.site.test_set(panel.queue.test_set).class_space
    classes = [(class_id, space.names[space.index(class_id)], count) for class_id, count in counts.items()]
    return sorted(classes, key=lambda row: row[1])
