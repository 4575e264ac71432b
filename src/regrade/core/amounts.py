"""Format counts and durations with the right singular or plural noun."""

from __future__ import annotations

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def amount(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun (default plural: ``singular`` with an s).

    >>> amount(1, "image"), amount(1200, "image"), amount(2, "class", "classes")
    ('1 image', '1,200 images', '2 classes')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """A duration, rounded to its largest unit.

    >>> duration(40), duration(3700), duration(200000)
    ('40 seconds', '1 hour', '2 days')
    """
    for size, name in _UNITS:
        if seconds >= size:
            return amount(round(seconds / size), name)
    return amount(round(seconds), "second")


def ago(seconds: float) -> str:
    """A duration since an event.

    >>> ago(3), ago(7300)
    ('just now', '2 hours ago')
    """
    return "just now" if seconds < 60 else f"{duration(seconds)} ago"
