"""Estimates: values with a confidence interval, as in all reports of regrade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval, the sample size and the method.

    ``n`` is the number of units (images, unless the method says otherwise), and ``method`` names
    the interval with its confidence level.

    >>> print(Estimate(0.8286, 0.8253, 0.8319, 50_000, "clopper-pearson 95%"))
    82.9 [82.5, 83.2]
    """

    value: float
    low: float
    high: float
    n: int
    method: str

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def as_dict(self) -> dict[str, Any]:
        """The five fields as a dictionary for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n, "method": self.method}

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"
