"""Images, by addresses that tell nothing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from regrade.app.access import Labeler, SiteHere
from regrade.app.images import SIDES, DisplayImage
from regrade.app.number_parsing import PathNumber
from regrade.core import InputError

router = APIRouter()
_KEEP = {"Cache-Control": "private, max-age=86400, immutable"}


def offered_side(side: Annotated[int | None, Query()] = None) -> int | None:
    """The side that a image is asked for in; one that is not offered raises."""
    if side is not None and side not in SIDES:
        raise InputError(f"a image is {', '.join(map(str, SIDES))} pixels wide, or in its own size")
    return side


Side = Annotated[int | None, Depends(offered_side)]


@router.get("/images/{word}", include_in_schema=False)
def image(word: str, site: SiteHere, _: Labeler, side: Side) -> Response:
    """One image, in its own size or shrunk to a side."""
    return _sent(site.images.shown(word, side))


@router.get("/images/{queue_id}/{word}", include_in_schema=False)
def image_in_queue(queue_id: PathNumber, word: str, site: SiteHere, session: Labeler, side: Side) -> Response:
    """An image that a queue asks about, for those who may work on it; they vote on what they see in its own size."""
    queue = site.queue(queue_id, session.person)
    if side is not None:
        return _sent(site.images.shown(word, side, queue_id=queue.id))
    with site.unseen.noting(session.person, f"/images/{queue.id}/{word}"):
        return _sent(site.images.shown(word, None, queue_id=queue.id))


def _sent(image: DisplayImage) -> Response:
    return Response(image.content, media_type=image.media_type, headers=_KEEP)
