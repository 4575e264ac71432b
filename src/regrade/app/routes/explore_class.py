"""Explore one class: accuracy per model, confusions, and its hardest images."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.explore.choice import Choice
from regrade.app.explore.class_report import class_report
from regrade.app.explore.drawing import AxisRange
from regrade.app.explore.query import ChoiceQuery, label_sets, resolve_choice
from regrade.app.explore.selection import class_named
from regrade.app.explore.tiles import tiles
from regrade.app.pages import page
from regrade.app.references import reference_images
from regrade.app.views import class_view

router = APIRouter(include_in_schema=False)

_REFERENCES = 12


@router.get("/explore/class")
def explore_class(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The page of one class."""
    choice, view = resolve_choice(site, requested)
    space = view.test_set.class_space
    index = class_named(space, choice.class_id)
    hidden, confidence = site.hidden_from(session.person), site.workspace.store.config.confidence
    report = hidden.choose_visible(
        view.test_set,
        lambda mask: class_report(view, index, confidence=confidence, hidden=mask),
        lambda report: report.hardest,
    )
    basis = Choice(set=choice.set, labels=choice.labels)
    hardest = tiles(site, view, basis.replace(label=space.ids[index], order="hardest"), report.hardest, hidden)
    elsewhere = reference_images(site, hidden, space, index, excluded=frozenset([choice.set]), count=_REFERENCES)
    references = [
        (address, Choice(set=name).image_page(position))
        for name, position in elsewhere
        if (address := site.images.address(name, position)) is not None
    ]
    return page(
        request, "explore_class.html", choice=choice, basis=basis, space=space, index=index, report=report,
        shown=class_view(space, index), hardest=hardest, references=references,
        scale=AxisRange.over([model.accuracy for model in report.models]),
        guide=f"/guide/{quote(space.name, safe='')}/{quote(space.ids[index], safe='')}",
        label_sets=label_sets(site, choice), hidden=hidden.note(view.test_set),
    )  # fmt: skip
