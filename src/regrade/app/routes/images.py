"""Images by opaque URLs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from regrade.app.access import Labeler, SiteDep
from regrade.app.forms import PathId
from regrade.app.images import SIDES, DisplayImage
from regrade.core import InputError

router = APIRouter()
_KEEP = {"Cache-Control": "private, max-age=86400, immutable"}


def thumbnail_side(side: Annotated[int | None, Query()] = None) -> int | None:
    """The requested thumbnail size, or None for full size; an unknown size raises."""
    if side is not None and side not in SIDES:
        raise InputError(
            f"unknown image size {side}: expected {', '.join(map(str, SIDES))} pixels, or none for full size"
        )
    return side


Side = Annotated[int | None, Depends(thumbnail_side)]


@router.get("/images/{opaque_id}", include_in_schema=False)
def image(opaque_id: str, site: SiteDep, session: Labeler, side: Side) -> Response:
    """One image, in full size or as a thumbnail."""
    site.holding.check_image(*site.images.place_of(opaque_id), session.person)
    return _sent(site.images.get(opaque_id, side))


@router.get("/images/{queue_id}/{opaque_id}", include_in_schema=False)
def image_in_queue(queue_id: PathId, opaque_id: str, site: SiteDep, session: Labeler, side: Side) -> Response:
    """An image of a queue, for people who may work on it; requests record whether it could be shown."""
    queue = site.queue(queue_id, session.person)
    with site.unseen.track(session.person, f"/images/{queue.id}/{opaque_id}"):
        if not queue.is_examination:
            site.holding.check_image(*site.images.place_of(opaque_id, queue_id=queue.id), session.person)
        return _sent(site.images.get_in_queue(queue, opaque_id, side))


def _sent(image: DisplayImage) -> Response:
    return Response(image.content, media_type=image.media_type, headers=_KEEP)
