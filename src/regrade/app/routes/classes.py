"""The classes of a space, sent once and searched in the browser."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from regrade.app.access import Labeler, SiteHere

router = APIRouter(prefix="/api/classes", tags=["classes"])


@router.get("/{class_space}")
def classes(
    class_space: str, site: SiteHere, _: Labeler, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Every class with its words and meaning, and the tree above them; unchanged, it is not sent again."""
    found = site.class_index(class_space)
    headers = {"ETag": found.tag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and found.tag in (tag.strip().removeprefix("W/") for tag in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type="application/json", headers=headers)
