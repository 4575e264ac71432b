"""Who may do what: every route says the least role it needs, and every write carries its session's token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from regrade.app.sessions import Session, same
from regrade.app.site import Site
from regrade.ledger import Role

_RANK = {Role.LABELER: 0, Role.REVIEWER: 1, Role.OWNER: 2}
_HEADER = "x-regrade-token"
_LEDGER_HEADER = "x-regrade-ledger"


class SignInFirst(Exception):
    """Someone who is not signed in asks for a page that needs it."""


async def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site: Site = request.app.state.site
    return site


async def token_of(request: Request) -> str:
    """The token that a write carries, in a header or in a form."""
    given = request.headers.get(_HEADER)
    if given is None and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        given = str((await request.form()).get("token", ""))
    return given or ""


def session_of(
    request: Request, site: Annotated[Site, Depends(site_of)], token: Annotated[str, Depends(token_of)]
) -> Session:
    """The session of a request; a write without its token is refused, and so is a page of another ledger."""
    _check_ledger(request, site)
    session = site.session_of(request)
    if session is None:
        raise SignInFirst
    if request.method not in ("GET", "HEAD") and not same(token, session.token):
        raise HTTPException(403, "this page is out of date: load it again, and send it once more")
    request.state.session = session
    return session


def _check_ledger(request: Request, site: Site) -> None:
    """Refuse a page that was loaded when this address served another ledger: its numbers mean other items here."""
    ledger_name = request.headers.get(_LEDGER_HEADER)
    if ledger_name is not None and not same(ledger_name, site.sessions.ledger_name):
        raise HTTPException(403, "this page was loaded from another workspace than this server now has: open it again")


def at_least(role: Role) -> Callable[[Session], Awaitable[Session]]:
    """A dependency that lets in people of a role and of those above it."""

    async def check(session: Annotated[Session, Depends(session_of)]) -> Session:
        if _RANK[session.person.role] < _RANK[role]:
            raise HTTPException(403, f"this needs the role {role.value}; yours is {session.person.role.value}")
        return session

    return check


SiteHere = Annotated[Site, Depends(site_of)]
Labeler = Annotated[Session, Depends(at_least(Role.LABELER))]
Reviewer = Annotated[Session, Depends(at_least(Role.REVIEWER))]
Owner = Annotated[Session, Depends(at_least(Role.OWNER))]
