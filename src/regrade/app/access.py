"""Access control: the role that each route requires, the token of every write, and redirects to sign in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import quote, unquote, urlsplit

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from regrade.app.sessions import Session, tokens_equal
from regrade.app.site import Site
from regrade.ledger import Role

HOME = "/"
MAX_PATH_LENGTH = 2000
"""Longest path that is remembered, in characters."""

_COOKIE_MAX_AGE = 3600  # seconds
_SIGN_IN_PATHS = ("/sign-in", "/sign-out", "/enter/", "/join/", "/work/")

_RANK = {Role.WORKER: 0, Role.LABELER: 1, Role.REVIEWER: 2, Role.OWNER: 3}
_HEADER = "x-regrade-token"
_LEDGER_HEADER = "x-regrade-ledger"


class SignInRequired(Exception):
    """Raised when a request needs a session and has none."""


async def site_of(request: Request) -> Site:
    """Return the site that serves a request."""
    site: Site = request.app.state.site
    return site


async def token_of(request: Request) -> str:
    """Return the session token of a write, from its header or its form; empty if it has none."""
    token = request.headers.get(_HEADER)
    if token is None and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        token = str((await request.form()).get("token", ""))
    return token or ""


def session_of(
    request: Request, site: Annotated[Site, Depends(site_of)], token: Annotated[str, Depends(token_of)]
) -> Session:
    """Return the session of a request; refuse writes without its token, and pages loaded from another ledger."""
    _check_ledger(request, site)
    session = site.session_of(request)
    if session is None:
        raise SignInRequired
    if request.method not in ("GET", "HEAD") and not tokens_equal(token, session.token):
        raise HTTPException(403, "this page is out of date: reload it and send it again")
    request.state.session = session
    return session


def _check_ledger(request: Request, site: Site) -> None:
    """Refuse requests of a page that was loaded while this address served another ledger: its item ids differ."""
    ledger_name = request.headers.get(_LEDGER_HEADER)
    if ledger_name is not None and not tokens_equal(ledger_name, site.sessions.ledger_name):
        raise HTTPException(
            403, "this page was loaded from another workspace than this server now serves: open it again"
        )


def require_role(role: Role) -> Callable[[Session], Awaitable[Session]]:
    """Return a dependency that admits people with a role or a higher one."""

    async def check(session: Annotated[Session, Depends(session_of)]) -> Session:
        if _RANK[session.person.role] < _RANK[role]:
            raise HTTPException(403, f"this requires the role {role.value}; yours is {session.person.role.value}")
        return session

    return check


SiteDep = Annotated[Site, Depends(site_of)]
Worker = Annotated[Session, Depends(require_role(Role.WORKER))]
Labeler = Annotated[Session, Depends(require_role(Role.LABELER))]
Reviewer = Annotated[Session, Depends(require_role(Role.REVIEWER))]
Owner = Annotated[Session, Depends(require_role(Role.OWNER))]


def safe_path(text: str | None) -> str | None:
    r"""Return a path if it stays on this site, else None: browsers read ``//host`` and ``/\host`` as other sites.

    >>> safe_path("/panel/3/17?show=all"), safe_path("//evil.example"), safe_path("/\\evil.example")
    ('/panel/3/17?show=all', None, None)
    """
    if not text or len(text) > MAX_PATH_LENGTH or not text.startswith("/") or text.startswith(("//", *_SIGN_IN_PATHS)):
        return None
    if "\\" in text or not text.isprintable():  # browsers drop tabs and line breaks within an address
        return None
    parts = urlsplit(text)
    return None if parts.scheme or parts.netloc else text


def redirect_to_sign_in(request: Request) -> Response:
    """Redirect to the sign-in page, and remember the requested page in the URL and in a cookie.

    The cookie serves people who sign in through a link instead: an invitation, or the link of a local server.
    """
    path = _requested_page(request)
    if path is None or path == HOME:
        return RedirectResponse("/sign-in", 303)
    response = RedirectResponse(f"/sign-in?next={quote(path, safe='/')}", 303)
    response.set_cookie(
        _cookie_name(request), quote(path, safe=""), max_age=_COOKIE_MAX_AGE, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def redirect_after_sign_in(request: Request, destination: str = "") -> Response:
    """Redirect to ``destination``, else to the page remembered in the cookie, else to the home page."""
    name = _cookie_name(request)
    remembered = request.cookies.get(name)
    response = RedirectResponse(safe_path(destination) or safe_path(unquote(remembered or "")) or HOME, 303)
    if remembered is not None:
        response.delete_cookie(name)
    return response


def _requested_page(request: Request) -> str | None:
    """Return the path and query if the request is for a page; None for images, scripts and writes."""
    if request.method != "GET" or request.headers.get("sec-fetch-dest", "document") != "document":
        return None
    path, query = request.scope["raw_path"].decode("latin-1"), request.scope["query_string"].decode("latin-1")
    return safe_path(f"{path}?{query}" if query else path)


def _cookie_name(request: Request) -> str:
    name: str = request.app.state.site.sessions.cookie_name
    return f"{name}_next"
