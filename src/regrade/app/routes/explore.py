"""Explore: the models of a test set with their intervals, and two accuracies against each other."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteHere
from regrade.app.explore.asking import Given, chosen, options, shorter
from regrade.app.explore.axes import axes_offered, chosen_axes, plotted
from regrade.app.explore.table import HEADINGS, models_table
from regrade.app.explore.withholding import FEWEST, is_withheld
from regrade.app.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/explore")
def explore(request: Request, site: SiteHere, session: Reviewer, given: Given) -> Response:
    """The table of models, and the plot of two accuracies."""
    if (elsewhere := shorter(request, given)) is not None:
        return elsewhere
    if not site.workspace.test_sets:
        return page(request, "explore_empty.html")
    choice, view = chosen(site, given)
    shown = options(site, choice, view)
    if not shown["rows"]:
        return page(request, "explore.html", table=None, withheld=None, left_out=view.answers.left_out, **shown)
    hidden = site.hidden_from(session.person)
    if choice.slice and is_withheld(view.test_set, site.explorer.inside(view, choice.slice), hidden):
        return page(request, "explore.html", table=None, withheld=FEWEST, left_out={}, **shown)
    table = models_table(site.explorer, view, choice)
    x, y = chosen_axes(site.explorer, choice)
    wanted = {line.grade.model for line in table.lines} if choice.models else None
    plot = plotted(site.explorer, choice, x, y, wanted)
    return page(
        request, "explore.html", table=table, headings=HEADINGS, plot=plot, x=x, y=y,
        axes=axes_offered(site.explorer), hidden=hidden.note(view.test_set), **shown,
    )  # fmt: skip
