"""The app as a server: routes, headers, errors, and the one-time link of a local session."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from regrade.app.access import SignInFirst
from regrade.app.headers import SafeHeaders
from regrade.app.limits import LimitedBody
from regrade.app.pages import HERE, page
from regrade.app.routes import ROUTERS
from regrade.app.site import Site
from regrade.core import AlreadyStored, InputError, ReasonNeeded, RegradeError, UnknownName
from regrade.ledger import Role
from regrade.workspace import Workspace

_WAITING = 2048  # connections that may wait to be answered
_LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "testserver"]


def create_app(workspace: Workspace, *, local: bool) -> FastAPI:
    """The app of a workspace; a ``local`` one answers this machine only and lets its owner in by a one-time link."""
    site = Site(workspace, local=local)
    app = FastAPI(title="regrade", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    if local:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=_LOCAL_NAMES)
    app.add_middleware(LimitedBody)
    app.add_middleware(SafeHeaders)
    app.add_exception_handler(SignInFirst, _sign_in_first)
    app.add_exception_handler(RegradeError, _expected_trouble)
    app.add_exception_handler(AnyHTTPException, _http_trouble)
    app.add_exception_handler(RequestValidationError, _bad_request)
    return app


def serve(workspace: Workspace, *, host: str, port: int, accounts: bool, told: Callable[[str], None]) -> None:
    """Serve until interrupted; with ``accounts``, and on any address that others can reach, everyone signs in."""
    import uvicorn

    local = is_loopback(host) and not accounts
    app = create_app(workspace, local=local)
    site: Site = app.state.site
    if not local:
        _check_owner(site)
    with _listening(host, port) as listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        told(f"{address}enter/{site.one_time_word}" if local else f"{address}  (put it behind https)")
        config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket:
    """A socket that listens; it says that it is TCP, since only then asyncio sends short answers without waiting."""
    listening = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM, IPPROTO_TCP)
    try:
        listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} of {host} cannot be used: {error.strerror or error}") from None
    return listening


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _check_owner(site: Site) -> None:
    if not any(one.role is Role.OWNER for one in site.ledger.people()):
        raise InputError(
            "people need accounts to come in here, and no one has one: begin with `regrade team add NAME --role owner`"
        )


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _trouble(request: Request, status: int, message: str, *, code: str = "") -> Response:
    if _is_api(request):
        return JSONResponse({"error": message} | ({"code": code} if code else {}), status)
    return page(request, "trouble.html", status=status, message=message, code=status)


async def _sign_in_first(request: Request, _: Exception) -> Response:
    if _is_api(request):
        return JSONResponse({"error": "sign in first"}, 401)
    return RedirectResponse("/sign-in", 303)


async def _expected_trouble(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, UnknownName) else 409 if isinstance(error, AlreadyStored) else 400
    return _trouble(request, status, str(error), code="reason needed" if isinstance(error, ReasonNeeded) else "")


async def _http_trouble(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, AnyHTTPException) else (500, "")
    return _trouble(request, status, str(detail))


async def _bad_request(request: Request, error: Exception) -> Response:
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": str(error)}
    where = ".".join(str(part) for part in first["loc"][1:])
    return _trouble(request, 422, f"{where}: {first['msg']}" if where else str(first["msg"]))
