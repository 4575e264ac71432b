"""How many of something, and how long, in words that fit the number."""

from __future__ import annotations

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def amount(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``many`` is the plural where it is not ``one`` with an s.

    >>> amount(1, "image"), amount(1200, "image"), amount(2, "class", "classes")
    ('1 image', '1,200 images', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """A length of time, in its largest unit.

    >>> duration(40), duration(3700), duration(200000)
    ('40 seconds', '1 hour', '2 days')
    """
    for size, name in _UNITS:
        if seconds >= size:
            return amount(round(seconds / size), name)
    return amount(round(seconds), "second")


def ago(seconds: float) -> str:
    """How long ago something was.

    >>> ago(3), ago(7300)
    ('just now', '2 hours ago')
    """
    return "just now" if seconds < 60 else f"{duration(seconds)} ago"
