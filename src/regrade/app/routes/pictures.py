"""Pictures, by addresses that tell nothing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from regrade.app.access import Labeler, SiteHere
from regrade.app.pictures import SIDES
from regrade.core import InputError

router = APIRouter()
_KEEP = {"Cache-Control": "private, max-age=86400, immutable"}


@router.get("/pictures/{word}", include_in_schema=False)
def picture(word: str, site: SiteHere, _: Labeler, side: Annotated[int | None, Query()] = None) -> Response:
    """One picture, in its own size or shrunk to a side."""
    if side is not None and side not in SIDES:
        raise InputError(f"a picture is {', '.join(map(str, SIDES))} pixels wide, or in its own size")
    found = site.pictures.shown(word, side)
    return Response(found.content, media_type=found.media_type, headers=_KEEP)
