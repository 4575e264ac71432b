"""One image: its labels, what every model says of it, what people decided, and what looks like it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteHere
from regrade.app.explore.asking import Given, chosen, label_sets
from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import View
from regrade.app.explore.image_report import position_of, said_of, slices_with, taken_for, versions_of
from regrade.app.explore.near_duplicates import Neighbor
from regrade.app.explore.selection import selected
from regrade.app.explore.tiles import label_of
from regrade.app.hidden_images import HiddenImages
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.core import UNLABELED
from regrade.ledger import Discussion, Discussions, Person, Queue
from regrade.ledger.item_images import items_about_image

router = APIRouter(include_in_schema=False)


@router.get("/explore/image")
def image(request: Request, site: SiteHere, session: Reviewer, given: Given) -> Response:
    """Everything that is known of one image."""
    choice, view = chosen(site, given)
    test_set = view.test_set
    position = position_of(test_set, choice.image, choice.id)
    hidden = site.hidden_from(session.person)
    if asking := hidden.asking(test_set, position):
        return page(request, "explore_hidden.html", choice=choice.basis(), queues=asking)
    choice = choice.model_copy(update={"image": position, "id": ""})
    number, before, after = hidden.settled(
        test_set,
        lambda mask: selected(site.explorer, view, choice, mask).around(position),
        lambda around: [beside for beside in around[1:] if beside is not None],
    )
    label = int(test_set.labels[position])
    return page(
        request, "explore_image.html", choice=choice, id=test_set.ids[position], space=test_set.class_space,
        image=site.images.address(test_set.name, position), label=None if label == UNLABELED else label,
        said=said_of(view, position, by_name=choice.sort == "model"), taken=taken_for(view, position),
        versions=versions_of(site, test_set, position, choice.labels), slices=slices_with(test_set, position),
        number=number, before=before, after=after, position=position,
        talks=talks(site, test_set.name, test_set.ids[position], session.person),
        names={one.id: one.name for one in site.ledger.people()},
        with_features=[row.name for row in view.answers.rows if row.has_features],
        kinds=sorted({row.score_kind.value for row in view.answers.rows if row.score_kind}),
        label_sets=label_sets(site, choice), alike=alike(site, view, choice, hidden),
    )  # fmt: skip


def talks(site: Site, test_set: str, example: str, viewer: Person) -> list[tuple[Queue, Discussion]]:
    """What people were asked about an image, each with as much of the answers as someone may see."""
    discussions = Discussions(site.ledger.engine)
    found = items_about_image(site.ledger.engine, test_set, example)
    return [(one.queue, discussions.seen_by(one.item.id, viewer)) for one in found]


def alike(site: Site, view: View, choice: Choice, hidden: HiddenImages) -> list[dict[str, str | None]] | None:
    """The images that look like this one, each with its address, label and distance; none where none are known.

    Hidden ones are left out.
    """
    likeness, test_set, position = site.explorer.likeness, view.test_set, choice.image or 0
    if choice.near:
        found: list[Neighbor] | None = likeness.by_features(view.answers, choice.near, position)
    else:
        found = likeness.by_hash(test_set, position, hidden=hidden.mask(test_set))
    if found is None:
        return None
    visible = set(hidden.visible(test_set, [one.position for one in found]))
    return [
        {
            "image": site.images.address(test_set.name, one.position),
            "address": choice.basis().image_page(one.position),
            "id": test_set.ids[one.position],
            "label": label_of(test_set, one.position),
            "words": one.words,
        }
        for one in found
        if one.position in visible
    ]
