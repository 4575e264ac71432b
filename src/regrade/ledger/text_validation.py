"""Text that every database can hold."""

from __future__ import annotations


def is_whole(text: str) -> bool:
    """Whether a text has whole letters only: no zero, and no half of a pair.

    >>> is_whole("a fox"), is_whole("a" + chr(0)), is_whole(chr(0xD83D))
    (True, False, False)
    """
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
