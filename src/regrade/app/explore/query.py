"""Parses the query of an Explore page, and lists the options of its forms."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import View
from regrade.app.site import Site
from regrade.core import UnknownName

ChoiceQuery = Annotated[Choice, Query()]
"""The choice in the query of a URL."""


def redirect_submitted_form(request: Request, requested: Choice) -> Response | None:
    """Redirect a submitted form to the short URL of its choice; None if the URL is short already."""
    return RedirectResponse(requested.settled().address(request.url.path), 303) if requested.was else None


def resolve_choice(site: Site, requested: Choice) -> tuple[Choice, View]:
    """Resolve a requested choice to an existing test set and one label version, and load its view."""
    store, explorer = site.workspace.store, site.explorer
    name = requested.set or next((name for name in store.test_set_names() if store.model_names(name)), "")
    name = name or next(iter(store.test_set_names()), "")
    if not name:
        raise UnknownName("test set", "", [], hint=": add one with regrade testsets add")
    if not store.has_test_set(name):
        raise UnknownName("test set", name, store.test_set_names())
    labels = explorer.labels_named(name, requested.labels)
    return requested.model_copy(update={"set": name, "labels": labels}), explorer.view(name, labels)


def form_options(site: Site, choice: Choice, view: View) -> dict[str, Any]:
    """The choice, and the options of a page's forms."""
    return {
        "choice": choice,
        "test_sets": site.workspace.store.test_set_names(),
        "label_sets": label_sets(site, choice),
        "slices": site.explorer.available_slices(view),
        "rows": view.answers.rows,
    }


def label_sets(site: Site, choice: Choice) -> tuple[str, ...]:
    """The label sets of the test set, in reverse order, newest version first."""
    return tuple(reversed(site.workspace.store.label_set_names(choice.set)))
