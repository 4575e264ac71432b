"""Text that people send: what no database can hold is refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from regrade.ledger.whole_text import is_whole


def _storable(text: str) -> str:
    if not is_whole(text):
        raise ValueError("a text has whole letters only")
    return text


PlainText = Annotated[str, AfterValidator(_storable)]
