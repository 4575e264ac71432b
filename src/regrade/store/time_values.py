"""Parsing times in imported files."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from regrade.core import FormatError

_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def parse_time(value: Any, where: str) -> float:
    """A time in seconds: a number, a number as text, or an ISO 8601 time since 1970 (UTC if it has no time zone).

    Seconds must lie between 0 and the year 9999: larger values are milliseconds, or not a time.

    >>> parse_time("2019-12-19T10:00:26Z", "") - parse_time("2019-12-19 10:00:00", "")
    26.0
    """
    if isinstance(value, datetime):
        return _since_1970(value)
    seconds = _seconds(value)
    if seconds is None:
        return _from_iso(value, where)
    if isinstance(value, bool) or math.isnan(seconds):
        raise FormatError(f"{where}: {value!r} is not a time")
    if not 0 <= seconds <= _LATEST:
        raise FormatError(f"{where}: {brief(value)} is not a time in seconds: expected 0 to {_LATEST:,.0f}")
    return seconds


def is_seconds(value: Any) -> bool:
    """Whether a time is a number, possibly as text, rather than an ISO 8601 time."""
    return _seconds(value) is not None


def _seconds(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:  # an integer larger than any float
        return math.inf
    except (TypeError, ValueError):
        return None


def _from_iso(value: Any, where: str) -> float:
    try:
        return _since_1970(datetime.fromisoformat(value.strip()))
    except (AttributeError, ValueError):
        raise FormatError(
            f"{where}: {brief(value)} is not a time: give ISO 8601 (2019-12-19T10:00:26) or seconds"
        ) from None


def _since_1970(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
