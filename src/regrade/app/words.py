"""Times and shares as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def duration(seconds: float) -> str:
    """A length of time, in its largest unit.

    >>> duration(40), duration(3700), duration(200000)
    ('40 seconds', '1 hour', '2 days')
    """
    for size, name in _UNITS:
        if seconds >= size:
            return _counted(round(seconds / size), name)
    return _counted(round(seconds), "second")


def ago(moment: datetime) -> str:
    """How long ago something was."""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    return "just now" if seconds < 60 else f"{duration(seconds)} ago"


def percent(share: float) -> str:
    """A share in whole percent, and never all or nothing unless it is.

    >>> percent(0.999), percent(1.0), percent(0.001)
    ('99%', '100%', '1%')
    """
    if 0 < share < 1:
        return f"{min(99, max(1, round(100 * share)))}%"
    return f"{100 * share:.0f}%"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" + "s" * (number != 1)
