"""Times and shares as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

from regrade.core import amounts


def ago(moment: datetime) -> str:
    """How long ago something was."""
    return amounts.ago((datetime.now(UTC) - moment).total_seconds())


def percent(share: float) -> str:
    """A share in whole percent, and never all or nothing unless it is.

    >>> percent(0.999), percent(1.0), percent(0.001)
    ('99%', '100%', '1%')
    """
    if 0 < share < 1:
        return f"{min(99, max(1, round(100 * share)))}%"
    return f"{100 * share:.0f}%"
