"""Sign in and out: one-time links on this machine, name and password, and invitations."""

from __future__ import annotations

import getpass
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import chain, count
from math import ceil
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.access import MAX_PATH_LENGTH, SiteDep, Worker, redirect_after_sign_in, safe_path
from regrade.app.forms import PlainText, is_visible
from regrade.app.pages import page
from regrade.app.sessions import SESSION_SECONDS
from regrade.app.site import Site
from regrade.core import InputError
from regrade.core.names import comparable_name
from regrade.ledger import AccountState, OpenAccount, Person, Role

router = APIRouter(include_in_schema=False)
Destination = Annotated[str, Query(alias="next", max_length=MAX_PATH_LENGTH)]


@router.get("/enter/{key}")
def enter(key: str, request: Request, site: SiteDep) -> Response:
    """Sign the owner of a local site in by a one-time link; a browser with a session is redirected."""
    if site.local and site.links.use(key):
        return start_session(request, site, site.accounts.account_of(_local_owner(site)))
    if site.session_of(request) is not None:
        return redirect_after_sign_in(request)
    if not site.local:
        raise HTTPException(403, "this server requires a name and a password: sign in")
    return _link_needed(request, 403, "this link was already used or has expired")


@router.get("/sign-in")
def sign_in_form(request: Request, site: SiteDep, destination: Destination = "") -> Response:
    """The form for name and password."""
    if site.local:
        return _link_needed(request, 401, "open the link that regrade serve printed when it started")
    return _form(request, destination=destination)


@router.post("/sign-in")
def sign_in(
    request: Request,
    site: SiteDep,
    name: Annotated[PlainText, Form(max_length=80)],
    password: Annotated[str, Form(max_length=1000)],
    destination: Annotated[str, Form(alias="next", max_length=MAX_PATH_LENGTH)] = "",
) -> Response:
    """Check name and password; too many attempts have to wait."""
    check_origin(request)
    address = client_network(request)
    if (seconds := site.attempts.reserve(address, name)) > 0:
        error_text = f"too many attempts: wait {ceil(seconds)} seconds"
        response = _form(request, status=429, name=name, error_text=error_text, destination=destination)
        response.headers["Retry-After"] = str(ceil(seconds))
        return response
    account = site.accounts.sign_in(name, password)
    if account is None:
        error_text = "wrong name or password"
        return _form(request, status=401, name=name, error_text=error_text, destination=destination)
    site.attempts.succeeded(address, name)
    return start_session(request, site, account, destination)


@router.get("/join/{key}")
def invitation(key: str, request: Request, site: SiteDep) -> Response:
    """The form in which an invited person sets a password."""
    person = site.accounts.invited(key)
    if person is None:
        raise HTTPException(404, "this invitation was already used or has expired: ask for a new one")
    return page(request, "join.html", person=person, key=key, error_text="")


@router.post("/join/{key}")
def join(
    key: str, request: Request, site: SiteDep, password: Annotated[str, Form()], again: Annotated[str, Form()]
) -> Response:
    """Set a password and sign in."""
    check_origin(request)
    try:
        if password != again:
            raise InputError("the two passwords differ")
        if not is_visible(password):
            raise InputError("a password needs at least one visible character")
        account = site.accounts.accept(key, password)
    except InputError as error:
        person = site.accounts.invited(key)
        if person is None:
            raise
        return page(request, "join.html", status=400, person=person, key=key, error_text=str(error))
    return start_session(request, site, account)


@router.post("/sign-out")
def sign_out(request: Request, site: SiteDep, _: Worker) -> Response:
    """End the session; copies of its cookie become invalid too."""
    site.sessions.end(request.cookies.get(site.sessions.cookie_name))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(site.sessions.cookie_name)
    return response


def _form(request: Request, *, status: int = 200, name: str = "", error_text: str = "", destination: str) -> Response:
    destination = safe_path(destination) or ""
    return page(request, "sign_in.html", status=status, name=name, error_text=error_text, destination=destination)


def start_session(request: Request, site: Site, account: OpenAccount, destination: str = "") -> Response:
    """Begin a session, end the browser's earlier one, and redirect."""
    cookie_name = site.sessions.cookie_name
    site.sessions.end(request.cookies.get(cookie_name))
    response = redirect_after_sign_in(request, destination)
    response.set_cookie(
        cookie_name, site.sessions.begin(account), max_age=SESSION_SECONDS, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def _link_needed(request: Request, status: int, reason: str) -> Response:
    return page(
        request, "error.html", status=status, code=status,
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
    return site.ledger.people.add(next(name for name in names if comparable_name(name) not in taken), Role.OWNER)


def check_origin(request: Request) -> None:
    """Refuse a form sent from another site: there is no session yet whose token could be checked."""
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "this form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "this form was sent from another site")


_SUBSCRIBER_PREFIX = 64  # bits: a provider assigns one subscriber a whole IPv6 network of this size


def client_network(request: Request) -> str:
    """Return the network address that a request comes from."""
    return network_of(request.client.host if request.client else "unknown")


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address.

    >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, _SUBSCRIBER_PREFIX), strict=False))
