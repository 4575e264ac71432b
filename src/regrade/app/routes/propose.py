"""Propose: the public page of a link, on which anyone can propose corrections of labels. It needs no account.

It reads no cookie: a visitor who is signed in sees and may do what every visitor does.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import SiteDep
from regrade.app.forms import PlainText
from regrade.app.images import SIDES
from regrade.app.pages import page
from regrade.app.public_images import VISITOR_SIDE, PublicImages
from regrade.app.routes.sign_in import check_origin, client_network
from regrade.app.routes.work import REASONS
from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.panel import Claim
from regrade.ledger import NewItem, QueueFull, Rate
from regrade.ledger.people import check_name

router = APIRouter(prefix="/propose/{token}", include_in_schema=False)

PER_ADDRESS = Rate(20, timedelta(minutes=3))
"""Proposals from one address, through all links."""

PER_LINK = Rate(200, timedelta(seconds=18))
"""Proposals through one link, from all addresses."""

_FULL = 3600  # seconds after which a visitor may try again if too many proposals are waiting
_HIDDEN_FROM_ROBOTS = {"X-Robots-Tag": "noindex, nofollow"}


class TooManyRequests(HTTPException):
    """The error for requests that come too fast, with the seconds to wait."""

    def __init__(self, seconds: float, reason: str = "too many requests") -> None:
        wait = str(ceil(seconds))
        super().__init__(429, f"{reason}: wait {wait} seconds", {"Retry-After": wait})


def _public_images(token: str, request: Request, site: SiteDep) -> PublicImages:
    """The images of a link; raises if the link does not work, or if the address asks too often."""
    if (seconds := site.views.reserve(client_network(request))) > 0:
        raise TooManyRequests(seconds)
    queue = site.ledger.proposals.queue_of_link(token)
    if queue is None:
        raise HTTPException(404, "this link was ended, or it is incomplete: ask the person who gave it to you")
    return PublicImages(site, queue)


Images = Annotated[PublicImages, Depends(_public_images)]


class ProposalForm(BaseModel):
    """A proposal: a class that is missing, a label that is wrong, or an image that should not be scored.

    ``class_id`` is a class by id, as the search of the page fills it in, ``typed`` one by id or name.
    """

    claim: Claim
    class_id: Annotated[PlainText, Field(max_length=200)] = ""
    typed: Annotated[PlainText, Field(max_length=200)] = ""
    label: Annotated[PlainText, Field(max_length=200)] = ""
    problem: Annotated[PlainText, Field(max_length=40)] = ""
    reason: Annotated[PlainText, Field(max_length=1000)] = ""
    name: Annotated[PlainText, Field(max_length=80)] = ""


@router.get("")
def gallery(
    token: str,
    request: Request,
    images: Images,
    number: Annotated[int, Query(alias="page", ge=1, lt=2**20)] = 1,
    find: Annotated[PlainText, Query(max_length=400)] = "",
) -> Response:
    """A page of images in random order; or, if an id is given, the image with this id."""
    error_text = ""
    if find.strip():
        try:
            opaque_id = images.image_id(images.position(find.strip()))
            return RedirectResponse(f"/propose/{token}/image/{opaque_id}", 303, _HIDDEN_FROM_ROBOTS)
        except UnknownName:
            error_text = "There is no image with this id here, or it is being checked at the moment."
    positions, pages = images.page(number)
    return _page(
        request, "propose.html", images, token, status=404 if error_text else 200, find=find, error_text=error_text,
        tiles=[images.image_id(position) for position in positions], number=min(number, pages), pages=pages,
    )  # fmt: skip


@router.get("/image/{opaque_id}")
def image_page(token: str, opaque_id: str, request: Request, images: Images, sent: bool = False) -> Response:
    """One image with its labels, and the form."""
    return _image_page(token, opaque_id, request, images, sent=sent)


@router.post("/image/{opaque_id}")
def propose(
    token: str, opaque_id: str, request: Request, images: Images, form: Annotated[ProposalForm, Form()]
) -> Response:
    """Store a proposal, unless the address or the link sends too many."""
    check_origin(request)
    rates = {f"proposals from {client_network(request)}": PER_ADDRESS, f"proposals to {images.queue.id}": PER_LINK}
    if (seconds := images.site.ledger.rate_limits.reserve(rates)) > 0:
        raise TooManyRequests(seconds, "too many proposals")
    position = images.located(opaque_id)
    try:
        class_id = images.class_in_question(position, form.claim, _class_of(form, images.test_set.class_space))
        reason, visitor = _reason(form), form.name.strip()
        if visitor:
            check_name("visitor", visitor)
        new = NewItem(images.test_set.ids[position], class_id)
        images.site.ledger.proposals.propose(images.queue, new, form.claim, reason, visitor=visitor)
    except QueueFull as error:
        raise TooManyRequests(_FULL, str(error)) from None
    except InputError as error:
        return _image_page(token, opaque_id, request, images, error_text=str(error), entered=form.model_dump())
    return RedirectResponse(f"/propose/{token}/image/{opaque_id}?sent=true", 303, _HIDDEN_FROM_ROBOTS)


@router.get("/images/{opaque_id}")
def image(opaque_id: str, images: Images, side: Annotated[int, Query()] = VISITOR_SIDE) -> Response:
    """An image that visitors may see."""
    if side not in SIDES:
        raise InputError(f"unknown image size {side}: expected {', '.join(map(str, SIDES))} pixels")
    shown = images.image(opaque_id, side)
    headers = {"Cache-Control": "private, max-age=600", **_HIDDEN_FROM_ROBOTS}
    return Response(shown.content, media_type=shown.media_type, headers=headers)


@router.get("/classes")
def classes(images: Images) -> Response:
    """The classes of the test set, for the search; they say nothing about any image."""
    index = images.site.class_index(images.test_set.class_space.name)
    headers = {"Cache-Control": "private, max-age=600", **_HIDDEN_FROM_ROBOTS}
    return Response(index.content, media_type="application/json", headers=headers)


def _image_page(
    token: str,
    opaque_id: str,
    request: Request,
    images: PublicImages,
    *,
    sent: bool = False,
    error_text: str = "",
    entered: Mapping[str, Any] | None = None,
) -> Response:
    position = images.located(opaque_id)
    labels, space = images.labels_of(position), images.test_set.class_space
    return _page(
        request, "propose_image.html", images, token, status=400 if error_text else 200, opaque_id=opaque_id,
        example=images.test_set.ids[position] if labels is not None else None, labels=labels, space=space,
        problems=REASONS, sent=sent, error_text=error_text, entered=entered or {},
    )  # fmt: skip


def _page(request: Request, template: str, images: PublicImages, token: str, *, status: int, **values: Any) -> Response:
    response = page(request, template, status=status, test_set=images.test_set.name, token=token, **values)
    response.headers.update(_HIDDEN_FROM_ROBOTS)
    return response


def _class_of(form: ProposalForm, space: ClassSpace) -> str:
    """The id of the class that a form names; raises if its name fits no class, or several."""
    if form.claim is Claim.WRONG and form.label:
        return form.label
    text = form.class_id or form.typed.strip()
    if not text or text in space.index_of:
        return text
    named = [class_id for class_id, name in zip(space.ids, space.names, strict=True) if name.lower() == text.lower()]
    if len(named) == 1:
        return named[0]
    raise InputError(f"there is no class {text!r}" if not named else f"{len(named)} classes are called {text!r}")


def _reason(form: ProposalForm) -> str:
    """The reason of a proposal; that of a problematic image begins with the kind of problem."""
    if form.claim is Claim.PROBLEMATIC:
        if form.problem not in REASONS:
            raise InputError("choose why the image should not be scored")
        return ": ".join(part for part in (form.problem, form.reason.strip()) if part)
    if not form.reason.strip():
        raise InputError("give a reason: what do you see in the image?")
    return form.reason.strip()
