"""The images behind a number, page by page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteHere
from regrade.app.explore import Choice
from regrade.app.explore.asking import Given, chosen, options, shorter
from regrade.app.explore.choice import IMAGES
from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import KIND_WORDS, AnswerKind
from regrade.app.explore.selection import ORDERS, PAGE, class_named, kind_named, selected
from regrade.app.explore.tiles import tiles
from regrade.app.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/explore/images")
def images(request: Request, site: SiteHere, session: Reviewer, given: Given) -> Response:
    """A page of the images that the filters leave."""
    if (elsewhere := shorter(request, given)) is not None:
        return elsewhere
    choice, view = chosen(site, given)
    hidden = site.hidden_from(session.person)
    selection = hidden.settled(
        view.test_set,
        lambda mask: selected(site.explorer, view, choice, mask),
        lambda selection: selection.shown(choice.page),
    )
    number = min(choice.page, selection.pages)
    kinds = [kind for kind in AnswerKind if choice.labels or kind not in (AnswerKind.NOVEL, AnswerKind.MISSED)]
    return page(
        request, "explore_images.html", tiles=tiles(site, view, choice, selection.shown(number), hidden),
        number=number, count=len(selection.positions), of=len(view.test_set), pages=selection.pages,
        hidden=hidden.note(view.test_set),
        begin=(number - 1) * PAGE, chips=chips(view, choice), kinds=kinds, kind_words=KIND_WORDS, orders=ORDERS,
        space=view.test_set.class_space, **options(site, choice, view),
    )  # fmt: skip


def chips(view: View, choice: Choice) -> list[tuple[str, str]]:
    """Every filter in words, with the address without it."""
    space = view.test_set.class_space
    found = []
    if choice.labels:
        found.append((f"labels {choice.labels}", choice.but(labels="")))
    if choice.slice:
        found.append((f"slice {choice.slice}", choice.but(slice="")))
    if choice.label:
        found.append((f"labeled {space.names[class_named(space, choice.label)]}", choice.but(label="")))
    if choice.model or choice.outcome:
        kind = f"{KIND_WORDS[kind_named(choice.outcome)]} for " if choice.outcome else "answers of "
        found.append((f"{kind}{choice.model or 'any model'}", choice.but(model="", outcome="", order="")))
    if choice.predicted:
        name = space.names[class_named(space, choice.predicted)]
        found.append((f"taken for {name}", choice.but(predicted="")))
    if choice.other:
        kind = KIND_WORDS[kind_named(choice.other_outcome or "right")]
        found.append((f"{kind} for {choice.other}", choice.but(other="", other_outcome="")))
    if choice.find:
        found.append((f"id holds “{choice.find}”", choice.but(find="")))
    return [(words, without.address(IMAGES)) for words, without in found]
