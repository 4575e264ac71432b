"""The app of a workspace, and the process that serves it: socket, logging, trusted proxies and shutdown."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.trustedhost import TrustedHostMiddleware

from regrade.app.pages import HERE
from regrade.app.responses import BodySizeLimit, SecurityHeaders, add_error_pages
from regrade.app.routes import ROUTERS
from regrade.app.site import Site
from regrade.core import InputError
from regrade.ledger import AccountState, Role
from regrade.workspace import Workspace

THIS_MACHINE = ("127.0.0.1", "::1")
"""Default addresses of trusted proxies."""

_BACKLOG = 2048  # pending connections
_GRACE = 5  # seconds for running requests when the server stops
_LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "testserver"]
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "filters": {"once": {"()": "regrade.app.server.SkipLoggedErrors"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["once"]}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


def create_app(workspace: Workspace, *, local: bool) -> FastAPI:
    """Create the app of a workspace; a ``local`` app serves this machine only, and its owner signs in by a link."""
    site = Site(workspace, local=local)
    app = FastAPI(title="regrade", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    if local:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=_LOCAL_NAMES)
    app.add_middleware(BodySizeLimit)
    add_error_pages(app)
    app.add_middleware(SecurityHeaders)
    return app


def serve(
    workspace: Workspace,
    *,
    host: str,
    port: int,
    accounts: bool,
    log: Callable[[str], None],
    proxies: Sequence[str] = THIS_MACHINE,
) -> int | None:
    """Serve the app until SIGINT or SIGTERM, close the ledger and return the signal.

    People sign in with ``accounts``, and on any address that other machines can reach. ``log`` gets the address to
    open. Forwarding headers (client address and scheme) are trusted from ``proxies``, addresses or networks.
    """
    trusted = [_network(text) for text in proxies]
    local = is_loopback(host) and not accounts
    app = create_app(workspace, local=local)
    site: Site = app.state.site
    try:
        if not local:
            _check_owner(site)
        with _listening(host, port) as listening:
            address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
            log(f"{address}enter/{site.links.new()}" if local else f"{address}  (put it behind https)")
            server = _Server(
                uvicorn.Config(
                    app, log_level="warning", log_config=_LOGGING, server_header=False, access_log=False,
                    forwarded_allow_ips=trusted, timeout_graceful_shutdown=_GRACE,
                )
            )  # fmt: skip
            server.run(sockets=[listening])
            return server.ended_by
    finally:
        site.ledger.engine.dispose()  # SQLite then checkpoints its write-ahead log


class SkipLoggedErrors(logging.Filter):
    """Drops uvicorn's traceback of an error that the app has logged already."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record."""
        return not (record.name == "uvicorn.error" and record.getMessage().startswith("Exception in ASGI application"))


class _Server(uvicorn.Server):
    """A server that returns after SIGINT or SIGTERM, instead of raising the signal again."""

    ended_by: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle both signals while serving."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: object) -> None:
        self.ended_by = number
        self.force_exit = self.should_exit  # a second signal does not wait for running requests
        self.should_exit = True


def _network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InputError(
            f"{text!r} is not a proxy address: give an IP address or a network such as 10.0.0.0/8"
        ) from None


def _listening(host: str, port: int) -> socket:
    """A listening socket; its protocol is set to TCP, since asyncio disables Nagle's algorithm only then."""
    listening = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM, IPPROTO_TCP)
    try:
        listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on port {port} of {host}: {error.strerror or error}") from None
    return listening


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _check_owner(site: Site) -> None:
    if not any(
        member.person.role is Role.OWNER and member.state is not AccountState.CLOSED
        for member in site.accounts.members()
    ):
        raise InputError("no owner has an account: add one with `regrade team add NAME --role owner`")
