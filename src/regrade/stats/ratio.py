"""A ratio with an interval that may be unbounded."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core.record import Record


@dataclass(frozen=True, slots=True)
class Ratio(Record):
    """A ratio of two estimates with its interval.

    ``value`` is None if the denominator is 0. ``low`` or ``high`` is None if the interval is unbounded on that side,
    because the denominator is not significantly different from 0. ``n`` is the sample size and ``method`` the name of
    the interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return f"{_text(self.value, '–')} (no bounds)"
        return f"{_text(self.value, '–')} [{_text(self.low, '-∞')}, {_text(self.high, '∞')}]"


def _text(value: float | None, missing: str) -> str:
    return missing if value is None else f"{value:.2f}"
