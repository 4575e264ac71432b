"""No request is larger than anything a page of ours sends."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 256 * 1024
"""The most bytes of a request's body."""

_MESSAGE = f"a request has at most {LARGEST // 1024} kB"


class LimitedBody:
    """Turns away requests whose body is too large, whether they say so or not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what it sends."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sizes = [value for name, value in scope["headers"] if name == b"content-length"]
        if sizes and (not sizes[0].isdigit() or int(sizes[0]) > LARGEST):
            await JSONResponse({"error": _MESSAGE}, 413)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST:
                raise HTTPException(413, _MESSAGE)
            return message

        await self.app(scope, counted, send)
