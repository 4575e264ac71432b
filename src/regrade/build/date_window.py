"""A window of dates, and the dates in the metadata of images."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from regrade.core import InputError

_BEGINNING = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?")  # of a time in ISO 8601, or of a date
_EXIF = re.compile(r"(\d{4}):(\d{2}):(\d{2}) \d{2}:\d{2}:\d{2}")
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?")  # since 1970, from 1973 on


@dataclass(frozen=True)
class DateWindow:
    """All dates from ``first`` to ``last``, both included; None is no limit."""

    first: date | None = None
    last: date | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise InputError(f"--from {self.first} is later than --to {self.last}")

    def __bool__(self) -> bool:
        return self.first is not None or self.last is not None

    def __contains__(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


def date_window(first: str | None, last: str | None) -> DateWindow:
    """The window of two options; raise for a text that is not a date."""
    return DateWindow(_limit("--from", first), _limit("--to", last))


def _limit(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} must be a date such as 2013-07-11, got {text!r}") from None


def read_date(text: str) -> date | None:
    """The date of a text: ISO 8601 with or without a time, EXIF, or seconds since 1970 (UTC); None for any other.

    >>> read_date("2013-07-11 09:05:00"), read_date("1373533500"), read_date("2013-07-00")
    (datetime.date(2013, 7, 11), datetime.date(2013, 7, 11), None)
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(float(text), UTC).date()
    if exif := _EXIF.fullmatch(text):
        text = "-".join(exif.groups())
    beginning = _BEGINNING.fullmatch(text)
    try:
        return date.fromisoformat(beginning.group(1)) if beginning else None
    except ValueError:  # such as the 0th day of a month
        return None
