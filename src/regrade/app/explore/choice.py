"""The filters and sort order of an Explore page, as stored in its URL."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field

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
