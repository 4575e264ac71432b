"""Where someone goes after signing in: the page they asked for, and nothing outside this site."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

HOME = "/"
LONGEST = 2000
"""The most letters of a path that is remembered."""

_KEPT = 3600  # seconds
_ENTRANCES = ("/sign-in", "/sign-out", "/enter/", "/join/")


def safe_path(text: str | None) -> str | None:
    r"""A path on this site, or none: browsers read ``//host`` and ``/\host`` as addresses of other sites.

    >>> safe_path("/panel/3/17?show=all"), safe_path("//evil.example"), safe_path("/\\evil.example")
    ('/panel/3/17?show=all', None, None)
    """
    if not text or len(text) > LONGEST or not text.startswith("/") or text.startswith(("//", *_ENTRANCES)):
        return None
    if "\\" in text or not text.isprintable():  # browsers drop tabs and line breaks within an address
        return None
    parts = urlsplit(text)
    return None if parts.scheme or parts.netloc else text


def to_sign_in(request: Request) -> Response:
    """Send someone to the sign-in page, and remember the page they asked for in the address and in a cookie.

    The cookie is for those who come in by a link of their own: an invitation, or that of a local server.
    """
    path = _requested_page(request)
    if path is None or path == HOME:
        return RedirectResponse("/sign-in", 303)
    response = RedirectResponse(f"/sign-in?next={quote(path, safe='/')}", 303)
    response.set_cookie(
        _cookie_name(request), quote(path, safe=""), max_age=_KEPT, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def to_destination(request: Request, given: str = "") -> Response:
    """Send someone who has come in to the page they asked for: the one ``given``, the one in the cookie, or home."""
    name = _cookie_name(request)
    remembered = request.cookies.get(name)
    response = RedirectResponse(safe_path(given) or safe_path(unquote(remembered or "")) or HOME, 303)
    if remembered is not None:
        response.delete_cookie(name)
    return response


def _requested_page(request: Request) -> str | None:
    """The path and query of a page that a browser opens; images and scripts within pages are none."""
    if request.method != "GET" or request.headers.get("sec-fetch-dest", "document") != "document":
        return None
    path, query = request.scope["raw_path"].decode("latin-1"), request.scope["query_string"].decode("latin-1")
    return safe_path(f"{path}?{query}" if query else path)


def _cookie_name(request: Request) -> str:
    name: str = request.app.state.site.sessions.cookie_name
    return f"{name}_next"
