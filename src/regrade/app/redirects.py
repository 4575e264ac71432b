"""Redirects to the sign-in page and back to the requested page, never to another site."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

HOME = "/"
MAX_PATH_LENGTH = 2000
"""Longest path that is remembered, in characters."""

_COOKIE_MAX_AGE = 3600  # seconds
_SIGN_IN_PATHS = ("/sign-in", "/sign-out", "/enter/", "/join/")


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
