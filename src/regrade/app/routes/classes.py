"""The class index of a class space, which the browser downloads once and searches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from regrade.app.access import Labeler, SiteDep

router = APIRouter(prefix="/api/classes", tags=["classes"])


@router.get("/{class_space}")
def classes(
    class_space: str, site: SiteDep, _: Labeler, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Every class with its synonyms and definition, and the class tree; status 304 if the ETag matches."""
    index = site.class_index(class_space)
    headers = {"ETag": index.tag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and index.tag in (tag.strip().removeprefix("W/") for tag in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(index.content, media_type="application/json", headers=headers)
