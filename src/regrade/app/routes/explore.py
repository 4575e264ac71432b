"""Explore: the table of models with intervals, and a plot of two accuracies."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.explore.axes import accuracy_plot, available_axes, chosen_axes
from regrade.app.explore.query import ChoiceQuery, form_options, redirect_submitted_form, resolve_choice
from regrade.app.explore.table import HEADINGS, models_table
from regrade.app.explore.withholding import MIN_SLICE_SIZE, is_withheld
from regrade.app.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/explore")
def explore(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The table of models, and the plot of two accuracies."""
    if (redirect := redirect_submitted_form(request, requested)) is not None:
        return redirect
    if not site.workspace.test_sets:
        return page(request, "explore_empty.html")
    choice, view = resolve_choice(site, requested)
    shown = form_options(site, choice, view)
    if not shown["rows"]:
        return page(request, "explore.html", table=None, withheld=None, left_out=view.answers.left_out, **shown)
    hidden = site.hidden_from(session.person)
    if choice.slice and is_withheld(view.test_set, site.explorer.inside(view, choice.slice), hidden):
        return page(request, "explore.html", table=None, withheld=MIN_SLICE_SIZE, left_out={}, **shown)
    table = models_table(site.explorer, view, choice)
    x, y = chosen_axes(site.explorer, choice)
    names = {line.grade.model for line in table.lines} if choice.models else None
    plot = accuracy_plot(site.explorer, choice, x, y, names)
    return page(
        request, "explore.html", table=table, headings=HEADINGS, plot=plot, x=x, y=y,
        axes=available_axes(site.explorer), hidden=hidden.note(view.test_set), **shown,
    )  # fmt: skip
