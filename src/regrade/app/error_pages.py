"""What people and programs are told when something goes wrong, as a page or as JSON; details are for the log."""

from __future__ import annotations

import traceback
from asyncio import CancelledError
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regrade.app.access import SignInFirst
from regrade.app.destinations import to_sign_in
from regrade.app.pages import page
from regrade.core import (
    AlreadyStored,
    LedgerDamaged,
    LedgerRefused,
    LedgerUnavailable,
    ReasonNeeded,
    RegradeError,
    UnknownName,
    WriteError,
)

RETRY_AFTER = 5
"""Seconds after which a request may be sent again that found no database."""

_UNAVAILABLE = "the database is not available at the moment: try again in a few seconds"
_ENDING = "the server is stopping: try again when it has started again"
_REFUSED = "the server's disk is full or read-only: nothing was saved; tell whoever runs this server"
_DAMAGED = "the server's database is damaged: tell whoever runs this server"
_UNEXPECTED = "something went wrong on the server; the reason is in its log"
_DATA = ("/api/", "/images/", "/team/export.")  # addresses of what is no page
_STATUS = {UnknownName: 404, AlreadyStored: 409, WriteError: 507}


def add_error_pages(app: FastAPI) -> None:
    """Answer every error of an app."""
    app.add_middleware(UnexpectedErrors)
    app.add_exception_handler(SignInFirst, _sign_in_first)
    app.add_exception_handler(RegradeError, _expected)
    app.add_exception_handler(LedgerUnavailable, _unavailable)
    app.add_exception_handler(NoFreeConnection, _unavailable)
    app.add_exception_handler(LedgerRefused, _refused)
    app.add_exception_handler(LedgerDamaged, _damaged)
    app.add_exception_handler(AnyHTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _bad_request)


class UnexpectedErrors:
    """Answers errors that no one foresaw; the log gets the traceback of the first of a kind, not of each."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            return  # no one is left to answer
        except CancelledError:  # the server ends, and has waited long enough for this request
            answer = _retry_later(Request(scope), _ENDING)
        except Exception as error:
            answer = _unexpected(Request(scope), error)
            if started:
                raise  # half an answer is sent: the server must close the connection, or the client waits for the rest
        else:
            return
        if not started:
            await answer(scope, receive, send)


def _unexpected(request: Request, error: Exception) -> Response:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    subject = f"unexpected {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
    _note(request, subject, str(error), error)
    return _answer(request, 500, _UNEXPECTED)


def _note(request: Request, subject: str, detail: str, error: BaseException | None = None) -> None:
    request.app.state.site.trouble.note(subject, detail, error=error)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _answer(request: Request, status: int, message: str, *, code: str = "") -> Response:
    """An error as JSON, with a code where a page does something about it, or as a page."""
    if _is_api(request):
        return JSONResponse({"error": message} | ({"code": code} if code else {}), status)
    return page(request, "trouble.html", status=status, message=message, code=status)


def _retry_later(request: Request, message: str) -> Response:
    response = _answer(request, 503, message)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


async def _sign_in_first(request: Request, _: Exception) -> Response:
    """Send whoever asks for a page to the sign-in page, which no one must take for an image or an export."""
    return _answer(request, 401, "sign in first") if request.url.path.startswith(_DATA) else to_sign_in(request)


async def _expected(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)
    return _answer(request, status, str(error), code="reason needed" if isinstance(error, ReasonNeeded) else "")


async def _unavailable(request: Request, error: Exception) -> Response:
    _note(request, "database not available", str(error))
    return _retry_later(request, _UNAVAILABLE)


async def _refused(request: Request, error: Exception) -> Response:
    _note(request, "database not writable", str(error))
    return _answer(request, 507, _REFUSED)


async def _damaged(request: Request, error: Exception) -> Response:
    _note(request, "database damaged", str(error))
    return _answer(request, 500, _DAMAGED)


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, AnyHTTPException) else (500, "")
    return _answer(request, status, str(detail))


async def _bad_request(request: Request, error: Exception) -> Response:
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": str(error)}
    where = ".".join(str(part) for part in first["loc"][1:])
    return _answer(request, 422, f"{where}: {first['msg']}" if where else str(first["msg"]))
