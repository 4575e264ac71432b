"""The API of the guide: the entry of a class, and a preview of a text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteDep
from regrade.app.forms import MAX_ROW_ID, StrictForm, StrictRoute
from regrade.app.guide_views import confusable_classes, example_images
from regrade.app.markdown import render_markdown
from regrade.app.routes.guide import MAX_TEXT_LENGTH
from regrade.ledger import GuideText

router = APIRouter(prefix="/api/guide", tags=["guide"], route_class=StrictRoute)


class ConfusableClassView(BaseModel):
    """A class that another is confused with, and their hierarchy distance."""

    id: str
    name: str
    distance: int | None


class EntryView(BaseModel):
    """The entry of a class with its text as safe HTML; ``written`` says whether the entry exists."""

    written: bool
    html: str
    traits: list[str]
    examples: list[str]
    alike: list[ConfusableClassView]


class Draft(StrictForm):
    """The text to preview."""

    text: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]


class Preview(BaseModel):
    """The text as safe HTML."""

    html: str


@router.post("/preview")
def preview(form: Draft, _: Reviewer) -> Preview:
    """Render a text as HTML."""
    return Preview(html=render_markdown(form.text))


@router.get("/{class_space}/{class_id:path}")
def entry(
    class_space: str,
    class_id: str,
    site: SiteDep,
    session: Labeler,
    queue: Annotated[int | None, Query(ge=1, le=MAX_ROW_ID)] = None,
) -> EntryView:
    """The guide entry of a class, without images of test sets used by the queue or by an examination."""
    space = site.class_space(class_space)
    index = space.index(class_id)
    queue_sets = frozenset() if queue is None else frozenset([site.queue(queue, session.person).test_set])
    stored = site.guide.entry(class_space, class_id)
    text = GuideText() if stored is None else stored.content
    return EntryView(
        written=stored is not None,
        html=render_markdown(text.text),
        traits=list(text.traits),
        examples=example_images(site, text.examples, session.person, excluded=site.examined() | queue_sets),
        alike=[
            ConfusableClassView(id=confusable.id, name=confusable.name, distance=confusable.distance)
            for confusable in confusable_classes(space, index, text.alike)
        ],
    )
