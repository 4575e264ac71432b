"""Responses of the app: security headers, a limit on the size of requests, and errors as a page or as JSON."""

from __future__ import annotations

import logging
import traceback
from abc import ABC, abstractmethod
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regrade.app.access import SignInRequired, redirect_to_sign_in
from regrade.app.pages import page
from regrade.core import (
    AlreadyStored,
    ChangedImage,
    LedgerDamaged,
    LedgerRefused,
    LedgerUnavailable,
    ReasonNeeded,
    RegradeError,
    UnknownName,
    WriteError,
)
from regrade.core.amounts import amount

POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class HttpMiddleware(ABC):
    """Middleware of HTTP requests; other connections pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection."""
        await (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an HTTP request."""


class SecurityHeaders(HttpMiddleware):
    """Adds the security headers that a response does not set itself."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and add headers to the response."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


MAX_BODY_BYTES = 256 * 1024
"""Largest request body, in bytes."""

_MESSAGE = f"the request body is larger than {MAX_BODY_BYTES // 1024} kB"


class BodySizeLimit(HttpMiddleware):
    """Rejects requests whose body is too large, with or without a Content-Length header."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, counting the bytes of its body."""
        sizes = [value for name, value in scope["headers"] if name == b"content-length"]
        if sizes and (not sizes[0].isdigit() or int(sizes[0]) > MAX_BODY_BYTES):
            await JSONResponse({"error": _MESSAGE}, 413)(scope, receive, send)
            return
        received = 0

        async def count_and_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                raise HTTPException(413, _MESSAGE)
            return message

        await self.app(scope, count_and_receive, send)


RETRY_AFTER = 5
"""Seconds after which a client may retry when the database is not available."""

_UNAVAILABLE = "the database is not available at the moment: try again in a few seconds"
_STOPPING = "the server is stopping: try again once it has restarted"
_REFUSED = "the server's disk is full or read-only and nothing was saved: tell the person who runs this server"
_DAMAGED = "the server's database is damaged: tell the person who runs this server"
_UNEXPECTED = "an unexpected error occurred on the server: see its log"
_DATA_PATHS = ("/api/", "/images/", "/tiles/", "/team/export.")  # these return data, not pages
_LOG = logging.getLogger("regrade.app")
_LOG_INTERVAL = 60.0  # seconds between summaries
_STATUS = {UnknownName: 404, AlreadyStored: 409, ChangedImage: 410, WriteError: 507}


def add_error_pages(app: FastAPI) -> None:
    """Add handlers for every error of an app."""
    app.state.error_log = ErrorLog()
    app.add_middleware(UnexpectedErrors)
    app.add_exception_handler(SignInRequired, _sign_in_required)
    app.add_exception_handler(RegradeError, _expected)
    app.add_exception_handler(LedgerUnavailable, _unavailable)
    app.add_exception_handler(NoFreeConnection, _unavailable)
    app.add_exception_handler(LedgerRefused, _refused)
    app.add_exception_handler(LedgerDamaged, _damaged)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _bad_request)


class UnexpectedErrors(HttpMiddleware):
    """Answers unhandled exceptions; only the first of a kind is logged with its traceback."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and answer the exception that it raises."""
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            return  # the client is gone
        except CancelledError:  # the server is stopping, and the grace period of this request is over
            response = _retry_later(Request(scope), _STOPPING)
        except Exception as error:
            response = _unexpected(Request(scope), error)
            if started:
                raise  # the response is incomplete: the server must close the connection, or the client keeps waiting
        else:
            return
        if not started:
            await response(scope, receive, send)


def _unexpected(request: Request, error: Exception) -> Response:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    subject = f"unexpected {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
    _log(request, subject, str(error), error)
    return _respond(request, 500, _UNEXPECTED)


def _log(request: Request, subject: str, detail: str, error: BaseException | None = None) -> None:
    request.app.state.error_log.record(subject, detail, error=error)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _respond(request: Request, status: int, message: str, *, code: str = "") -> Response:
    """Return an error as a page, or for the API as JSON, with a ``code`` for errors that scripts handle."""
    if _is_api(request):
        return JSONResponse({"error": message} | ({"code": code} if code else {}), status)
    return page(request, "error.html", status=status, message=message, code=status)


def _retry_later(request: Request, message: str) -> Response:
    response = _respond(request, 503, message)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


async def _sign_in_required(request: Request, _: Exception) -> Response:
    """Redirect pages to the sign-in page; data requests get status 401, so that no page is taken for data."""
    return (
        _respond(request, 401, "sign in first")
        if request.url.path.startswith(_DATA_PATHS)
        else redirect_to_sign_in(request)
    )


async def _expected(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)
    return _respond(request, status, str(error), code="reason needed" if isinstance(error, ReasonNeeded) else "")


async def _unavailable(request: Request, error: Exception) -> Response:
    _log(request, "database not available", str(error))
    return _retry_later(request, _UNAVAILABLE)


async def _refused(request: Request, error: Exception) -> Response:
    _log(request, "database not writable", str(error))
    return _respond(request, 507, _REFUSED)


async def _damaged(request: Request, error: Exception) -> Response:
    _log(request, "database damaged", str(error))
    return _respond(request, 500, _DAMAGED)


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    response = _respond(request, status, str(detail))
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _bad_request(request: Request, error: Exception) -> Response:
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": str(error)}
    where = ".".join(str(part) for part in first["loc"][1:])
    return _respond(request, 422, ": ".join(part for part in (where, _invalid_value(first)) if part))


def _invalid_value(error: Mapping[str, Any]) -> str:
    """What is wrong with a value, from an error of pydantic, which counts the characters of texts as items."""
    if error.get("type") == "too_long" and isinstance(error["input"], str):
        most, length = (error["ctx"][name] for name in ("max_length", "actual_length"))
        return f"a text of at most {most:,} characters is expected, got {length:,}"
    return str(error["msg"]).removeprefix("Value error, ")


def _start_timer(seconds: float, action: Callable[[], None]) -> None:
    timer = Timer(seconds, action)
    timer.daemon = True  # a pending summary must not delay the exit
    timer.start()


class ErrorLog:
    """Logs the first event of a kind at once, then one line per minute with the count.

    ``schedule`` runs a function after some seconds, and tests replace it.
    """

    def __init__(self, schedule: Callable[[float, Callable[[], None]], None] = _start_timer) -> None:
        self._schedule = schedule
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def record(self, event: str, detail: str, *, error: BaseException | None = None) -> None:
        """Log the first event of a kind, with the traceback of ``error``; count those that follow."""
        with self._lock:
            repeated = event in self._counts
            self._counts[event] = self._counts[event] + 1 if repeated else 0
        if not repeated:
            _LOG.error("%s: %s", event, detail, exc_info=error)
            self._schedule(_LOG_INTERVAL, lambda: self._summarize(event))

    def _summarize(self, event: str) -> None:
        """Log the count of the last minute; after a minute without events, log the next one at once again."""
        with self._lock:
            count = self._counts[event]
            if count == 0:
                del self._counts[event]
                return
            self._counts[event] = 0
        _LOG.error("%s: %s refused in the last minute", event, amount(count, "request"))
        self._schedule(_LOG_INTERVAL, lambda: self._summarize(event))
