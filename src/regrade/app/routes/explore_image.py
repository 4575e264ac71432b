"""Explore one image: its labels, all predictions, the decisions of people, and near duplicates."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import View
from regrade.app.explore.image_report import answers_on, position_of, slices_with, taken_for, versions_of
from regrade.app.explore.near_duplicates import Neighbor
from regrade.app.explore.query import ChoiceQuery, label_sets, resolve_choice
from regrade.app.explore.selection import select_images
from regrade.app.explore.tiles import label_of
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.core import UNLABELED
from regrade.ledger import Discussion, Person, Queue

router = APIRouter(include_in_schema=False)


@router.get("/explore/image")
def image(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The page of one image."""
    choice, view = resolve_choice(site, requested)
    test_set = view.test_set
    position = position_of(test_set, choice.image, choice.id)
    hidden = site.hidden_from(session.person)
    if asking := hidden.asking(test_set, position):
        return page(request, "explore_hidden.html", choice=choice.basis(), queues=asking)
    choice = choice.model_copy(update={"image": position, "id": ""})
    number, before, after = hidden.choose_visible(
        test_set,
        lambda mask: select_images(site.explorer, view, choice, mask).around(position),
        lambda around: [adjacent for adjacent in around[1:] if adjacent is not None],
    )
    label = int(test_set.labels[position])
    return page(
        request, "explore_image.html", choice=choice, id=test_set.ids[position], space=test_set.class_space,
        image=site.images.address(test_set.name, position), label=None if label == UNLABELED else label,
        answers=answers_on(view, position, by_name=choice.sort == "model"), taken=taken_for(view, position),
        versions=versions_of(site, test_set, position, choice.labels), slices=slices_with(test_set, position),
        number=number, before=before, after=after, position=position,
        discussions=discussions_of(site, test_set.name, test_set.ids[position], session.person),
        names={person.id: person.name for person in site.ledger.people.all()},
        with_features=[row.name for row in view.answers.rows if row.has_features],
        kinds=sorted({row.score_kind.value for row in view.answers.rows if row.score_kind}),
        label_sets=label_sets(site, choice), near_duplicates=near_duplicates(site, view, choice, hidden),
    )  # fmt: skip


def discussions_of(site: Site, test_set: str, example: str, viewer: Person) -> list[tuple[Queue, Discussion]]:
    """The discussions of an image with their queues, limited to what the viewer may see."""
    discussions = site.ledger.discussions
    queued = site.ledger.items.about_image(test_set, example)
    return [(entry.queue, discussions.seen_by(entry.item.id, viewer)) for entry in queued]


def near_duplicates(site: Site, view: View, choice: Choice, hidden: HiddenImages) -> list[dict[str, str | None]] | None:
    """The near duplicates of the image with their URLs, labels and distances; None if nothing is stored to find them.

    Hidden images are left out.
    """
    finder, test_set, position = site.explorer.near_duplicates, view.test_set, choice.image or 0
    if choice.near:
        neighbors: list[Neighbor] | None = finder.by_features(view.answers, choice.near, position)
    else:
        neighbors = finder.by_hash(test_set, position, hidden=hidden.mask(test_set))
    if neighbors is None:
        return None
    visible = set(hidden.visible(test_set, [neighbor.position for neighbor in neighbors]))
    return [
        {
            "image": site.images.address(test_set.name, neighbor.position),
            "address": choice.basis().image_page(neighbor.position),
            "id": test_set.ids[neighbor.position],
            "label": label_of(test_set, neighbor.position),
            "words": neighbor.words,
        }
        for neighbor in neighbors
        if neighbor.position in visible
    ]
