"""Dependencies of the panel's routes: the queue, one of its items, and the filter of the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Query

from regrade.app.access import Reviewer, SiteDep
from regrade.app.forms import PathId, PlainText
from regrade.app.site import Site
from regrade.core import UnknownName
from regrade.ledger import Discussions, Item, Person, Question, Queue, Stage, TopicFilter


@dataclass(frozen=True)
class PanelQueue:
    """A queue that a panel decides, and the person who looks at it."""

    site: Site
    person: Person
    queue: Queue

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
    if queue.question is Question.LABEL:
        raise UnknownName("queue of a panel", queue.name, None)
    return PanelQueue(site, session.person, queue)


def _panel_item(item_id: PathId, panel: Annotated[PanelQueue, Depends(_panel_queue)]) -> PanelItem:
    item = panel.site.ledger.items.with_id(item_id)
    if item.queue_id != panel.queue.id:
        raise UnknownName("item", str(item_id), None)
    _check_labeled(panel, item)
    return PanelItem(panel.site, panel.person, panel.queue, item)


def _check_labeled(panel: PanelQueue, item: Item) -> None:
    """Refuse access to the discussion of an image that the person still has to label."""
    test_set = panel.site.test_set(panel.queue.test_set)
    position = test_set.position_of.get(item.example)
    asking = () if position is None else panel.site.unlabeled(panel.person).asking(test_set, position)
    if asking:
        raise HTTPException(
            403, f"you still have to label this image in {asking[0].queue.name!r}: label it there first"
        )


def _topic_filter(
    show: Stage = Stage.DISPUTED,
    class_id: Annotated[PlainText, Query(alias="class", max_length=200)] = "",
    answer: Annotated[PlainText, Query(max_length=200)] = "",
) -> TopicFilter:
    return TopicFilter(show, class_id, answer)


PanelQueueDep = Annotated[PanelQueue, Depends(_panel_queue)]
PanelItemDep = Annotated[PanelItem, Depends(_panel_item)]
TopicFilterDep = Annotated[TopicFilter, Depends(_topic_filter)]
