"""The process that serves the app: its socket, its log, its proxies, and how it ends."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket
from typing import Any

import uvicorn

from regrade.app.serving import create_app
from regrade.app.site import Site
from regrade.core import InputError
from regrade.ledger import AccountState, Role
from regrade.workspace import Workspace

THIS_MACHINE = ("127.0.0.1", "::1")
"""The proxies that are trusted by default."""

_WAITING = 2048  # connections that may wait to be answered
_GRACE = 5  # seconds that requests have to finish when the server ends
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "filters": {"once": {"()": "regrade.app.server.LoggedOnce"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["once"]}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


def serve(
    workspace: Workspace,
    *,
    host: str,
    port: int,
    accounts: bool,
    told: Callable[[str], None],
    proxies: Sequence[str] = THIS_MACHINE,
) -> int | None:
    """Serve until a signal comes, which is returned; then close the ledger.

    With ``accounts``, and on any address that others can reach, everyone signs in. Of ``proxies``, addresses or
    networks, the headers are believed that say whom they forward for and by which scheme.
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
            told(f"{address}enter/{site.links.new()}" if local else f"{address}  (put it behind https)")
            server = _Server(
                uvicorn.Config(
                    app, log_level="warning", log_config=_LOGGING, server_header=False, access_log=False,
                    forwarded_allow_ips=trusted, timeout_graceful_shutdown=_GRACE,
                )
            )  # fmt: skip
            server.run(sockets=[listening])
            return server.ended_by
    finally:
        site.ledger.engine.dispose()  # SQLite then brings its write-ahead log into the file


class LoggedOnce(logging.Filter):
    """Drops uvicorn's traceback of an error that the app has logged already."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be logged."""
        return not (record.name == "uvicorn.error" and record.getMessage().startswith("Exception in ASGI application"))


class _Server(uvicorn.Server):
    """A server that ends by SIGINT or SIGTERM and returns, instead of raising the signal once more."""

    ended_by: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take both signals while serving."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: object) -> None:
        self.ended_by = number
        self.force_exit = self.should_exit  # whoever asks twice waits for no request
        self.should_exit = True


def _network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InputError(f"no proxy has the address {text!r}: give an IP address, or a network as 10.0.0.0/8") from None


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
    if not any(
        member.person.role is Role.OWNER and member.state is not AccountState.CLOSED
        for member in site.accounts.members()
    ):
        raise InputError(
            "people need accounts to come in here, and no one has one: begin with `regrade team add NAME --role owner`"
        )
