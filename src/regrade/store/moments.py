"""Moments as people write them, as seconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from regrade.core import FormatError

_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def moment(value: Any, where: str) -> float:
    """Seconds, from a number, from its text, or since 1970 from an ISO 8601 time (UTC if it names no zone).

    Seconds are at least 0, and at most those of the year 9999: more are milliseconds, or no time at all.

    >>> moment("2019-12-19T10:00:26Z", "") - moment("2019-12-19 10:00:00", "")
    26.0
    """
    if isinstance(value, datetime):
        return _since_1970(value)
    seconds = _seconds(value)
    if seconds is None:
        return _from_iso(value, where)
    if isinstance(value, bool) or math.isnan(seconds):
        raise FormatError(f"{where}: {value!r} is no time")
    if not 0 <= seconds <= _LATEST:
        raise FormatError(f"{where}: {brief(value)} is no time in seconds: expected 0 to {_LATEST:,.0f}")
    return seconds


def is_seconds(value: Any) -> bool:
    """Whether a moment is a number, or the text of one, rather than a time of day."""
    return _seconds(value) is not None


def _seconds(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:  # a whole number that is larger than any float
        return math.inf
    except (TypeError, ValueError):
        return None


def _from_iso(value: Any, where: str) -> float:
    try:
        return _since_1970(datetime.fromisoformat(value.strip()))
    except (AttributeError, ValueError):
        raise FormatError(
            f"{where}: {brief(value)} is no time: give ISO 8601 (2019-12-19T10:00:26) or seconds"
        ) from None


def _since_1970(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
