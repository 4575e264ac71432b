"""Access control: every route declares the role it requires, and every write must carry its session's token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from regrade.app.sessions import Session, tokens_equal
from regrade.app.site import Site
from regrade.ledger import Role

_RANK = {Role.LABELER: 0, Role.REVIEWER: 1, Role.OWNER: 2}
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
Labeler = Annotated[Session, Depends(require_role(Role.LABELER))]
Reviewer = Annotated[Session, Depends(require_role(Role.REVIEWER))]
Owner = Annotated[Session, Depends(require_role(Role.OWNER))]
