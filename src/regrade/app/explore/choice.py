"""The filters and sort order of an Explore page: stored in its URL, resolved, and offered in its forms."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from regrade.app.explore.explorer import View
from regrade.app.site import Site
from regrade.core import UnknownName

Text = Annotated[str, Field(max_length=500)]

TABLE, IMAGES, IMAGE, CLASS = "/explore", "/explore/images", "/explore/image", "/explore/class"
"""Paths of the Explore pages."""


class Choice(BaseModel):
    """Filters and sort order; empty values are not chosen.

    ``was`` is the test set that a form was rendered for: if the test set changes, its other filters are dropped.
    """

    model_config = ConfigDict(frozen=True)

    set: Text = ""
    labels: Text = ""
    slice: Text = ""
    models: Text = ""
    sort: Text = ""
    x: Annotated[str, Field(max_length=2000)] = ""
    y: Annotated[str, Field(max_length=2000)] = ""
    model: Text = ""
    outcome: Text = ""
    other_model: Annotated[str, Field(max_length=500, alias="other")] = ""
    other_outcome: Text = ""
    label: Text = ""
    predicted: Text = ""
    find: Text = ""
    order: Text = ""
    page: Annotated[int, Field(ge=1, le=10**7)] = 1
    image: Annotated[int | None, Field(ge=0, lt=2**31)] = None
    id: Annotated[str, Field(max_length=1000)] = ""
    near: Text = ""
    was: Text = ""
    class_id: Annotated[str, Field(max_length=500, alias="class")] = ""

    def replace(self, **changes: Any) -> Choice:
        """The choice with some values changed; a change of the filters or the order goes back to the first page."""
        if not {"page", "image", "near"} & set(changes):
            changes["page"] = 1
        return self.model_copy(update=changes)

    def address(self, path: str, **changes: Any) -> str:
        """The URL of a page with this choice, with some values changed."""
        chosen = self.replace(**changes) if changes else self
        query = chosen.model_dump(by_alias=True, exclude_defaults=True)
        return f"{path}?{urlencode(query, quote_via=quote)}" if query else path

    def basis(self) -> Choice:
        """The choice of test set, labels and slice only."""
        return Choice(set=self.set, labels=self.labels, slice=self.slice)

    def images(self, **filters: Any) -> str:
        """The URL of the images page with these filters, on this test set, labels and slice."""
        return self.basis().address(IMAGES, **filters)

    def image_page(self, position: int) -> str:
        """The URL of one of the chosen images."""
        return self.address(IMAGE, image=position, near="", sort="")

    def class_page(self, class_id: str) -> str:
        """The URL of a class."""
        return Choice(set=self.set, labels=self.labels).address(CLASS, class_id=class_id)

    def settled(self) -> Choice:
        """The choice for a URL: without ``was``, and without filters that belong to another test set."""
        if self.was and self.was != self.set:
            return Choice(set=self.set, models=self.models)
        return self.model_copy(update={"was": ""})


ChoiceQuery = Annotated[Choice, Query()]
"""The choice in the query of a URL."""


def redirect_submitted_form(request: Request, requested: Choice) -> Response | None:
    """Redirect a submitted form to the short URL of its choice; None if the URL is short already."""
    return RedirectResponse(requested.settled().address(request.url.path), 303) if requested.was else None


def resolve_choice(site: Site, requested: Choice) -> tuple[Choice, View]:
    """Resolve a requested choice to an existing test set and one label version, and load its view."""
    store, explorer = site.workspace.store, site.explorer
    name = requested.set or next((name for name in store.test_sets.names() if store.predictions.model_names(name)), "")
    name = name or next(iter(store.test_sets.names()), "")
    if not name:
        raise UnknownName("test set", "", [], hint=": add one with regrade testsets add")
    if not store.test_sets.has(name):
        raise UnknownName("test set", name, store.test_sets.names())
    labels = explorer.labels_named(name, requested.labels)
    return requested.model_copy(update={"set": name, "labels": labels}), explorer.view(name, labels)


def form_options(site: Site, choice: Choice, view: View) -> dict[str, Any]:
    """The choice, and the options of a page's forms."""
    return {
        "choice": choice,
        "test_sets": site.workspace.store.test_sets.names(),
        "label_sets": label_sets(site, choice),
        "slices": site.explorer.available_slices(view),
        "rows": view.answers.rows,
    }


def label_sets(site: Site, choice: Choice) -> tuple[str, ...]:
    """The label sets of the test set, in reverse order, newest version first."""
    return tuple(reversed(site.workspace.store.labels.names(choice.set)))
