"""The API about classes: the class index of a class space, and the guide entry of a class."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteDep
from regrade.app.forms import MAX_ROW_ID, StrictForm, StrictRoute
from regrade.app.guide_text import render_markdown
from regrade.app.guide_views import confusable_classes, example_images
from regrade.app.routes.guide import MAX_TEXT_LENGTH
from regrade.ledger import GuideText

router = APIRouter(prefix="/api", route_class=StrictRoute)


@router.get("/classes/{class_space}", tags=["classes"])
def classes(
    class_space: str, site: SiteDep, _: Labeler, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Every class with its synonyms and definition, and the class tree; status 304 if the ETag matches."""
    index = site.class_index(class_space)
    headers = {"ETag": index.tag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and index.tag in (tag.strip().removeprefix("W/") for tag in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(index.content, media_type="application/json", headers=headers)


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


@router.post("/guide/preview", tags=["guide"])
def preview(form: Draft, _: Reviewer) -> Preview:
    """Render a text as HTML."""
    return Preview(html=render_markdown(form.text))


@router.get("/guide/{class_space}/{class_id:path}", tags=["guide"])
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
