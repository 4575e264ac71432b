"""What the panel's routes are about: a queue that a panel decides, one of its items, and the filters of its list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Query

from regrade.app.access import Reviewer, SiteHere
from regrade.app.number_parsing import PathNumber
from regrade.app.plain_text import PlainText
from regrade.app.site import Site
from regrade.core import UnknownName
from regrade.ledger import Discussions, Item, Person, Question, Queue, Stage, TopicFilter


@dataclass(frozen=True)
class PanelQueue:
    """Someone before a queue that a panel decides."""

    site: Site
    person: Person
    queue: Queue

    @property
    def discussions(self) -> Discussions:
        """What is talked about."""
        return Discussions(self.site.ledger.engine)


@dataclass(frozen=True)
class PanelItem(PanelQueue):
    """Someone before one of its items."""

    item: Item


def _desk(queue_id: PathNumber, site: SiteHere, session: Reviewer) -> PanelQueue:
    queue = site.queue(queue_id, session.person)
    if queue.question is Question.LABEL:
        raise UnknownName("queue of a panel", queue.name, None)
    return PanelQueue(site, session.person, queue)


def _subject(item_id: PathNumber, desk: Annotated[PanelQueue, Depends(_desk)]) -> PanelItem:
    item = desk.site.ledger.item(item_id)
    if item.queue_id != desk.queue.id:
        raise UnknownName("item", str(item_id), None)
    _check_labeled(desk, item)
    return PanelItem(desk.site, desk.person, desk.queue, item)


def _check_labeled(desk: PanelQueue, item: Item) -> None:
    """Refuse what a panel says of an image that someone still has to label."""
    test_set = desk.site.test_set(desk.queue.test_set)
    position = test_set.position_of.get(item.example)
    asking = () if position is None else desk.site.unlabeled(desk.person).asking(test_set, position)
    if asking:
        raise HTTPException(403, f"you still have to label this image in {asking[0].queue.name!r}: answer there first")


def _wanted(
    show: Stage = Stage.DISPUTED,
    class_id: Annotated[PlainText, Query(alias="class", max_length=200)] = "",
    answer: Annotated[PlainText, Query(max_length=200)] = "",
) -> TopicFilter:
    return TopicFilter(show, class_id, answer)


DeskHere = Annotated[PanelQueue, Depends(_desk)]
SubjectHere = Annotated[PanelItem, Depends(_subject)]
WantedHere = Annotated[TopicFilter, Depends(_wanted)]
