"""Format counts and durations with the right singular or plural noun, and sizes of files."""

from __future__ import annotations

_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def amount(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun (default plural: ``singular`` with an s).

    >>> amount(1, "image"), amount(1200, "image"), amount(2, "class", "classes")
    ('1 image', '1,200 images', '2 classes')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def file_size(count: int) -> str:
    """A number of bytes in the largest decimal unit.

    >>> file_size(1), file_size(999), file_size(81_166), file_size(5_182_394)
    ('1 byte', '999 bytes', '81.2 kB', '5.2 MB')
    """
    for size, name in _SIZES:
        if count >= size:
            return f"{count / size:,.1f} {name}"
    return amount(count, "byte")


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
