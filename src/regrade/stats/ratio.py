"""A ratio with its interval, which may have no end or no value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of two estimates.

    ``value`` is none where the second is 0. ``low`` or ``high`` is none where the interval has no such end: the second
    cannot be told from 0 then. ``n`` counts what the ratio rests on and ``method`` names the interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str

    def as_dict(self) -> dict[str, Any]:
        """The five fields, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return f"{_text(self.value, '–')} (no bounds)"
        return f"{_text(self.value, '–')} [{_text(self.low, '-∞')}, {_text(self.high, '∞')}]"


def _text(value: float | None, missing: str) -> str:
    return missing if value is None else f"{value:.2f}"
