"""Coming in and going out: the one-time link of this machine, name and password, and invitations."""

from __future__ import annotations

import getpass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import Labeler, SiteHere
from regrade.app.pages import page
from regrade.app.plain_text import PlainText
from regrade.app.sessions import COOKIE, LASTS, same
from regrade.app.site import Site
from regrade.core import InputError
from regrade.ledger import Person, Role

router = APIRouter(include_in_schema=False)


@router.get("/enter/{word}")
def enter(word: str, request: Request, site: SiteHere) -> Response:
    """Let the owner of this machine in, once."""
    known, site.one_time_word = site.one_time_word, None
    if known is None or not same(known, word):
        site.one_time_word = known
        return page(
            request,
            "trouble.html",
            status=403,
            code=403,
            message="this link was used already, or is not ours: start regrade serve again for a new one",
        )
    return _welcome(request, site, _local_owner(site))


@router.get("/sign-in")
def ask(request: Request, site: SiteHere) -> Response:
    """The form for name and password."""
    if site.local:
        return page(
            request,
            "trouble.html",
            status=401,
            code=401,
            message="open the link that regrade serve printed when it started",
        )
    return page(request, "sign_in.html", trouble="", name="")


@router.post("/sign-in")
def sign_in(
    request: Request,
    site: SiteHere,
    name: Annotated[PlainText, Form(max_length=80)],
    password: Annotated[str, Form(max_length=1000)],
) -> Response:
    """Check name and password, and let someone wait who has tried too often."""
    _check_origin(request)
    address = request.client.host if request.client else "unknown"
    who = f"name {name}", f"address {address}"
    if (seconds := site.sign_ins.wait(*who)) > 0:
        return page(
            request, "sign_in.html", status=429, name=name, trouble=f"too many tries: wait {seconds:.0f} seconds"
        )
    person = site.accounts.sign_in(name, password)
    if person is None:
        site.sign_ins.failed(*who)
        return page(request, "sign_in.html", status=401, name=name, trouble="name or password is not right")
    site.sign_ins.succeeded(*who)
    return _welcome(request, site, person)


@router.get("/join/{word}")
def invitation(word: str, request: Request, site: SiteHere) -> Response:
    """The form in which someone who was invited sets a password."""
    person = site.accounts.invited(word)
    if person is None:
        raise HTTPException(404, "this invitation was used, or is out of date: ask for a new one")
    return page(request, "join.html", person=person, word=word, trouble="")


@router.post("/join/{word}")
def join(
    word: str, request: Request, site: SiteHere, password: Annotated[str, Form()], again: Annotated[str, Form()]
) -> Response:
    """Set a password and come in."""
    _check_origin(request)
    try:
        if password != again:
            raise InputError("the two passwords differ")
        person = site.accounts.accept(word, password)
    except InputError as error:
        known = site.accounts.invited(word)
        if known is None:
            raise
        return page(request, "join.html", status=400, person=known, word=word, trouble=str(error))
    return _welcome(request, site, person)


@router.post("/sign-out")
def sign_out(_: Labeler) -> Response:
    """Forget the session in this browser."""
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(COOKIE)
    return response


def _welcome(request: Request, site: Site, person: Person) -> Response:
    response = RedirectResponse("/", 303)
    response.set_cookie(
        COOKIE, site.sessions.cookie_for(person), max_age=LASTS, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def _local_owner(site: Site) -> Person:
    """The first owner of the ledger, or a new one with this machine's user name."""
    people = site.ledger.people()
    owner = next((one for one in people if one.role is Role.OWNER), None)
    if owner is not None:
        return owner
    name = getpass.getuser()
    return site.ledger.add_person(name if name not in {one.name for one in people} else f"{name} (owner)", Role.OWNER)


def _check_origin(request: Request) -> None:
    """Refuse a form that another site has sent: there is no session yet whose token it could carry."""
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "this form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "this form was sent from another site")
