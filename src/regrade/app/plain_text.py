"""Text that people send: what no database can hold is refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _storable(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("a text has whole letters only")
    return text


PlainText = Annotated[str, AfterValidator(_storable)]
