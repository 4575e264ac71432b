"""Estimates: values with a confidence interval, as in all reports of regrade."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core.record import Record


@dataclass(frozen=True, slots=True)
class Estimate(Record):
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

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"
