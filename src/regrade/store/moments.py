"""Moments as people write them, as seconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from regrade.core import FormatError


def moment(value: Any, where: str) -> float:
    """Seconds, from a number, from its text, or since 1970 from an ISO 8601 time (UTC if it names no zone).

    >>> moment("2019-12-19T10:00:26Z", "") - moment("2019-12-19 10:00:00", "")
    26.0
    """
    if isinstance(value, datetime):
        return _seconds(value)
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = _from_iso(value, where)
    if isinstance(value, bool) or not math.isfinite(seconds):
        raise FormatError(f"{where}: {value!r} is no time")
    return seconds


def is_seconds(value: Any) -> bool:
    """Whether a moment is a number, or the text of one, rather than a time of day."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _from_iso(value: Any, where: str) -> float:
    try:
        return _seconds(datetime.fromisoformat(value.strip()))
    except (AttributeError, ValueError):
        raise FormatError(f"{where}: {value!r} is no time: give ISO 8601 (2019-12-19T10:00:26) or seconds") from None


def _seconds(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
