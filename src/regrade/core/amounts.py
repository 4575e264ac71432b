"""How many of something, in words that fit the number."""

from __future__ import annotations


def amount(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``many`` is the plural where it is not ``one`` with an s.

    >>> amount(1, "image"), amount(1200, "image"), amount(2, "class", "classes")
    ('1 image', '1,200 images', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
