"""Text sent by people: characters that cannot be stored are rejected, and invisible text counts as empty."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator

from regrade.ledger.text_validation import is_whole

_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # Hangul fillers and the empty braille pattern


def is_visible(text: str) -> bool:
    """Whether a text has a visible character: a letter, number, punctuation mark or symbol.

    >>> is_visible("a fox"), is_visible(" "), is_visible(chr(0x200B))
    (True, False, False)
    """
    return any(unicodedata.category(letter)[0] in "LNPS" and letter not in _BLANK_LETTERS for letter in text)


def _storable(text: str) -> str:
    if not is_whole(text):
        raise ValueError("the text contains a NUL character or an unpaired surrogate")
    return text if is_visible(text) else ""


PlainText = Annotated[str, AfterValidator(_storable)]
