"""ASGI middleware: security headers of every response, and a limit on the size of request bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
