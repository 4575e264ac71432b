"""Coming in and going out: the one-time link of this machine, name and password, and invitations."""

from __future__ import annotations

import getpass
from itertools import chain, count
from math import ceil
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import Labeler, SiteHere
from regrade.app.client_network import client_network
from regrade.app.destinations import LONGEST, safe_path, to_destination
from regrade.app.pages import page
from regrade.app.plain_text import PlainText, is_visible
from regrade.app.sessions import LASTS
from regrade.app.site import Site
from regrade.core import InputError
from regrade.core.similar_names import comparable_name
from regrade.ledger import AccountState, OpenAccount, Person, Role

router = APIRouter(include_in_schema=False)
Destination = Annotated[str, Query(alias="next", max_length=LONGEST)]


@router.get("/enter/{word}")
def enter(word: str, request: Request, site: SiteHere) -> Response:
    """Let the owner of this machine in, once; a browser that is in already goes on."""
    if site.local and site.links.use(word):
        return _welcome(request, site, site.accounts.account_of(_local_owner(site)))
    if site.session_of(request) is not None:
        return to_destination(request)
    if not site.local:
        raise HTTPException(403, "this server lets people in by name and password: sign in")
    return _link_needed(request, 403, "this link was used already, or is too old")


@router.get("/sign-in")
def ask(request: Request, site: SiteHere, destination: Destination = "") -> Response:
    """The form for name and password."""
    if site.local:
        return _link_needed(request, 401, "open the link that regrade serve printed when it started")
    return _form(request, destination=destination)


@router.post("/sign-in")
def sign_in(
    request: Request,
    site: SiteHere,
    name: Annotated[PlainText, Form(max_length=80)],
    password: Annotated[str, Form(max_length=1000)],
    destination: Annotated[str, Form(alias="next", max_length=LONGEST)] = "",
) -> Response:
    """Check name and password, and let someone wait who has tried too often."""
    _check_origin(request)
    address = client_network(request)
    if (seconds := site.attempts.reserve(address, name)) > 0:
        trouble = f"too many tries: wait {ceil(seconds)} seconds"
        response = _form(request, status=429, name=name, trouble=trouble, destination=destination)
        response.headers["Retry-After"] = str(ceil(seconds))
        return response
    account = site.accounts.sign_in(name, password)
    if account is None:
        trouble = "name or password is not right"
        return _form(request, status=401, name=name, trouble=trouble, destination=destination)
    site.attempts.succeeded(address, name)
    return _welcome(request, site, account, destination)


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
        if not is_visible(password):
            raise InputError("a password has letters, numbers or signs, not only spaces")
        account = site.accounts.accept(word, password)
    except InputError as error:
        person = site.accounts.invited(word)
        if person is None:
            raise
        return page(request, "join.html", status=400, person=person, word=word, trouble=str(error))
    return _welcome(request, site, account)


@router.post("/sign-out")
def sign_out(request: Request, site: SiteHere, _: Labeler) -> Response:
    """End the session, here and wherever its cookie was copied to."""
    site.sessions.end(request.cookies.get(site.sessions.cookie_name))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(site.sessions.cookie_name)
    return response


def _form(request: Request, *, status: int = 200, name: str = "", trouble: str = "", destination: str) -> Response:
    destination = safe_path(destination) or ""
    return page(request, "sign_in.html", status=status, name=name, trouble=trouble, destination=destination)


def _welcome(request: Request, site: Site, account: OpenAccount, destination: str = "") -> Response:
    """Begin a session in the place of the browser's earlier one, if it has any."""
    cookie_name = site.sessions.cookie_name
    site.sessions.end(request.cookies.get(cookie_name))
    response = to_destination(request, destination)
    response.set_cookie(
        cookie_name, site.sessions.begin(account), max_age=LASTS, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def _link_needed(request: Request, status: int, reason: str) -> Response:
    return page(
        request, "trouble.html", status=status, code=status,
        message=f"{reason}. For another link, run this in the workspace's folder:",
        command=f"regrade team link --address {str(request.base_url).rstrip('/')}",
    )  # fmt: skip


def _local_owner(site: Site) -> Person:
    """The first owner whose account is not closed, or a new one with this machine's user name."""
    members = site.accounts.members()
    for member in members:
        if member.person.role is Role.OWNER and member.state is not AccountState.CLOSED:
            return member.person
    taken = {comparable_name(member.person.name) for member in members}
    user = getpass.getuser()
    names = chain((user, f"{user} (owner)"), (f"{user} (owner {number})" for number in count(2)))
    return site.ledger.add_person(next(name for name in names if comparable_name(name) not in taken), Role.OWNER)


def _check_origin(request: Request) -> None:
    """Refuse a form that another site has sent: there is no session yet whose token it could carry."""
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "this form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "this form was sent from another site")
