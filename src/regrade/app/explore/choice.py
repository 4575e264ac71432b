"""What someone looks at, as it stands in the address of a page."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=500)]

TABLE, IMAGES, IMAGE, CLASS = "/explore", "/explore/images", "/explore/image", "/explore/class"
"""The pages that can be looked at."""


class Choice(BaseModel):
    """Filters and the order of things; what is empty is not chosen.

    ``was`` is the test set that a form was made for: what was chosen for another set does not go on.
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
    other: Text = ""
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

    def but(self, **changes: Any) -> Choice:
        """The choice with some of it changed; a change of anything but the page or image goes to the first page."""
        if not {"page", "image", "near"} & set(changes):
            changes["page"] = 1
        return self.model_copy(update=changes)

    def address(self, path: str, **changes: Any) -> str:
        """The address of a page with this choice, some of it changed."""
        chosen = self.but(**changes) if changes else self
        query = chosen.model_dump(by_alias=True, exclude_defaults=True)
        return f"{path}?{urlencode(query, quote_via=quote)}" if query else path

    def basis(self) -> Choice:
        """The test set, labels and slice alone."""
        return Choice(set=self.set, labels=self.labels, slice=self.slice)

    def images(self, **filters: Any) -> str:
        """The address of the images behind a number on this test set, labels and slice."""
        return self.basis().address(IMAGES, **filters)

    def image_page(self, position: int) -> str:
        """The address of one image, among those that are chosen."""
        return self.address(IMAGE, image=position, near="", sort="")

    def class_page(self, class_id: str) -> str:
        """The address of a class."""
        return Choice(set=self.set, labels=self.labels).address(CLASS, class_id=class_id)

    def settled(self) -> Choice:
        """The choice as it stands in addresses: without what belongs to another test set than the chosen one."""
        if self.was and self.was != self.set:
            return Choice(set=self.set, models=self.models)
        return self.model_copy(update={"was": ""})
