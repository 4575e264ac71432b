"""What pages send as JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from regrade.core import FormatError
from regrade.core.strict_json import parse_json


class StrictForm(BaseModel):
    """A form that takes the fields it names, and no others."""

    model_config = ConfigDict(extra="forbid")


class StrictRoute(APIRoute):
    """A route that refuses a body in which a key stands twice, instead of using one of its values."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route, for a request whose JSON is read strictly."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body; one that is not strict JSON is refused."""
        try:
            return parse_json((await self.body()).decode())
        except UnicodeDecodeError:
            raise HTTPException(422, "the body of the request is not UTF-8") from None
        except FormatError as error:
            raise HTTPException(422, f"the body of the request {error}") from None
