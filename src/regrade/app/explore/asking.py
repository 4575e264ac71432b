"""From the address of a page to what is to be shown, and what its forms offer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import View
from regrade.app.site import Site
from regrade.core import UnknownName

Given = Annotated[Choice, Query()]
"""What stands in the address."""


def shorter(request: Request, given: Choice) -> Response | None:
    """A form that was just sent goes on to the address of what it chose; none for an address."""
    return RedirectResponse(given.settled().address(request.url.path), 303) if given.was else None


def chosen(site: Site, given: Choice) -> tuple[Choice, View]:
    """What is asked for, on a test set that is there and with labels in one version, and what is known of it."""
    store, explorer = site.workspace.store, site.explorer
    name = given.set or next((one for one in store.test_set_names() if store.model_names(one)), "")
    name = name or next(iter(store.test_set_names()), "")
    if not name:
        raise UnknownName("test set", "", [], hint=": add one with regrade testsets add")
    if not store.has_test_set(name):
        raise UnknownName("test set", name, store.test_set_names())
    labels = explorer.labels_named(name, given.labels)
    return given.model_copy(update={"set": name, "labels": labels}), explorer.view(name, labels)


def options(site: Site, choice: Choice, view: View) -> dict[str, Any]:
    """What is chosen, and what the forms of a page offer."""
    return {
        "choice": choice,
        "test_sets": site.workspace.store.test_set_names(),
        "label_sets": label_sets(site, choice),
        "slices": site.explorer.slices_offered(view),
        "rows": view.answers.rows,
    }


def label_sets(site: Site, choice: Choice) -> tuple[str, ...]:
    """The label sets of the test set, the newest version of the last one first."""
    return tuple(reversed(site.workspace.store.label_set_names(choice.set)))
