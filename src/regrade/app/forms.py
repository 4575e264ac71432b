"""Types of request data: strict JSON bodies, row ids, and text without invisible or unstorable characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import HTTPException, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from regrade.core import FormatError
from regrade.core.strict_json import parse_json
from regrade.ledger.schema import is_valid_text

MAX_ROW_ID = 2**31 - 1
"""Largest row id."""

FormId = Annotated[int, Field(ge=1, le=MAX_ROW_ID)]
"""A row id in a form."""

JsonId = Annotated[int, Field(ge=1, le=MAX_ROW_ID, strict=True)]
"""A row id in JSON: an integer, neither a string nor a boolean."""

PathId = Annotated[int, Path(ge=1, le=MAX_ROW_ID)]
"""A row id in a URL path."""

_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # Hangul fillers and the empty braille pattern


def is_visible(text: str) -> bool:
    """Whether a text has a visible character: a letter, number, punctuation mark or symbol.

    >>> is_visible("a fox"), is_visible(" "), is_visible(chr(0x200B))
    (True, False, False)
    """
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK_LETTERS for letter in text)


def _storable(text: str) -> str:
    if not is_valid_text(text):
        raise ValueError("the text contains a NUL character or an unpaired surrogate")
    return text if is_visible(text) else ""


PlainText = Annotated[str, AfterValidator(_storable)]


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
