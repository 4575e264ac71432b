"""Explore images: the images that match the filters, page by page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.explore import Choice
from regrade.app.explore.choice import IMAGES
from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import KIND_WORDS, AnswerKind
from regrade.app.explore.query import ChoiceQuery, form_options, redirect_submitted_form, resolve_choice
from regrade.app.explore.selection import ORDERS, PAGE_SIZE, class_named, kind_named, select_images
from regrade.app.explore.tiles import tiles
from regrade.app.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/explore/images")
def images(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """A page of the images that match the filters."""
    if (redirect := redirect_submitted_form(request, requested)) is not None:
        return redirect
    choice, view = resolve_choice(site, requested)
    hidden = site.hidden_from(session.person)
    selection = hidden.choose_visible(
        view.test_set,
        lambda mask: select_images(site.explorer, view, choice, mask),
        lambda selection: selection.on_page(choice.page),
    )
    number = min(choice.page, selection.pages)
    kinds = [kind for kind in AnswerKind if choice.labels or kind not in (AnswerKind.NOVEL, AnswerKind.MISSED)]
    return page(
        request, "explore_images.html", tiles=tiles(site, view, choice, selection.on_page(number), hidden),
        number=number, count=len(selection.positions), of=len(view.test_set), pages=selection.pages,
        hidden=hidden.note(view.test_set), begin=(number - 1) * PAGE_SIZE, chips=filter_chips(view, choice),
        kinds=kinds, kind_words=KIND_WORDS, orders=ORDERS, space=view.test_set.class_space,
        **form_options(site, choice, view),
    )  # fmt: skip


def filter_chips(view: View, choice: Choice) -> list[tuple[str, str]]:
    """Every active filter as text, with the URL that removes it."""
    space = view.test_set.class_space
    filters = []
    if choice.labels:
        filters.append((f"labels {choice.labels}", choice.replace(labels="")))
    if choice.slice:
        filters.append((f"slice {choice.slice}", choice.replace(slice="")))
    if choice.label:
        filters.append((f"labeled {space.names[class_named(space, choice.label)]}", choice.replace(label="")))
    if choice.model or choice.outcome:
        kind = f"{KIND_WORDS[kind_named(choice.outcome)]} for " if choice.outcome else "answers of "
        filters.append((f"{kind}{choice.model or 'any model'}", choice.replace(model="", outcome="", order="")))
    if choice.predicted:
        name = space.names[class_named(space, choice.predicted)]
        filters.append((f"predicted as {name}", choice.replace(predicted="")))
    if choice.other_model:
        kind = KIND_WORDS[kind_named(choice.other_outcome or "right")]
        filters.append((f"{kind} for {choice.other_model}", choice.replace(other_model="", other_outcome="")))
    if choice.find:
        filters.append((f"id contains “{choice.find}”", choice.replace(find="")))
    return [(words, without.address(IMAGES)) for words, without in filters]
