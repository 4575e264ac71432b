"""What pages call of the guide: the entry on a class, and a text as it will look."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteHere
from regrade.app.forms import StrictForm, StrictRoute
from regrade.app.guide_views import alike, example_images
from regrade.app.markdown import formatted
from regrade.app.number_parsing import LARGEST
from regrade.app.routes.guide import LONGEST
from regrade.ledger import GuideText

router = APIRouter(prefix="/api/guide", tags=["guide"], route_class=StrictRoute)


class ConfusableClassView(BaseModel):
    """A class that another is taken for; ``distance`` as the guide's pages name it."""

    id: str
    name: str
    distance: int | None


class EntryView(BaseModel):
    """The entry on a class, its text as safe HTML; ``written`` is whether there is one."""

    written: bool
    html: str
    traits: list[str]
    examples: list[str]
    alike: list[ConfusableClassView]


class Draft(StrictForm):
    """A text that is being written."""

    text: Annotated[str, Field(max_length=LONGEST)]


class Preview(BaseModel):
    """The text as safe HTML."""

    html: str


@router.post("/preview")
def preview(form: Draft, _: Reviewer) -> Preview:
    """How a text will look."""
    return Preview(html=formatted(form.text))


@router.get("/{class_space}/{class_id:path}")
def entry(
    class_space: str,
    class_id: str,
    site: SiteHere,
    session: Labeler,
    queue: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> EntryView:
    """What the guide says of a class, without images of the test set that a queue or an examination asks about."""
    space = site.class_space(class_space)
    index = space.index(class_id)
    asked = frozenset() if queue is None else frozenset([site.queue(queue, session.person).test_set])
    found = site.guide.entry(class_space, class_id)
    said = GuideText() if found is None else found.content
    return EntryView(
        written=found is not None,
        html=formatted(said.text),
        traits=list(said.traits),
        examples=example_images(site, said.examples, session.person, excluded=site.examined() | asked),
        alike=[
            ConfusableClassView(id=one.id, name=one.name, distance=one.distance)
            for one in alike(space, index, said.alike)
        ],
    )
