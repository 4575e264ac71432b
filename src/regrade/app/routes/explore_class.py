"""One class: how well each model knows it, what it is taken for, and its hardest images."""

from __future__ import annotations

from itertools import islice
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteHere
from regrade.app.explore.asking import Given, chosen, label_sets
from regrade.app.explore.choice import Choice
from regrade.app.explore.class_report import class_report
from regrade.app.explore.drawing import Scale
from regrade.app.explore.selecting import class_named
from regrade.app.explore.tiles import tiles
from regrade.app.pages import page
from regrade.app.views import class_view

router = APIRouter(include_in_schema=False)

_REFERENCES = 12


@router.get("/explore/class")
def one_class(request: Request, site: SiteHere, _: Reviewer, given: Given) -> Response:
    """Everything that models make of a class."""
    choice, view = chosen(site, given)
    space = view.test_set.class_space
    index = class_named(space, choice.class_id)
    found = class_report(view, index, confidence=site.workspace.store.config.confidence)
    basis = Choice(set=choice.set, labels=choice.labels)
    hardest = tiles(site, view, basis.but(label=space.ids[index], order="hardest"), found.hardest)
    found_elsewhere = site.pictures.references(space.name, index, but=frozenset([choice.set]))
    references = [
        (address, Choice(set=other).image_page(place))
        for other, place in islice(found_elsewhere, _REFERENCES)
        if (address := site.pictures.address(other, place)) is not None
    ]
    return page(
        request, "explore_class.html", choice=choice, basis=basis, space=space, index=index, report=found,
        told=class_view(space, index), hardest=hardest, references=references,
        scale=Scale.over([one.accuracy for one in found.models]),
        guide=f"/guide/{quote(space.name, safe='')}/{quote(space.ids[index], safe='')}",
        label_sets=label_sets(site, choice),
    )  # fmt: skip
