"""JSON request bodies, parsed strictly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from regrade.core import FormatError
from regrade.core.strict_json import parse_json


class StrictForm(BaseModel):
    """A form that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


class StrictRoute(APIRoute):
    """A route that rejects JSON bodies with duplicate keys."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler, with strict JSON parsing."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Parse the body, or raise a validation error."""
        try:
            return parse_json((await self.body()).decode())
        except UnicodeDecodeError:
            raise HTTPException(422, "the body of the request is not UTF-8") from None
        except FormatError as error:
            raise HTTPException(422, f"the body of the request {error}") from None
