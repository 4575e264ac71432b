"""The result of a benchmark: our cost, that of the baseline, and whether the aim was reached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from regrade.core import Column, Table


@dataclass(frozen=True)
class Result:
    """One row of the final table; ``ours`` and ``baseline`` are costs in ``unit``: less is better.

    The aim is either ``aim_ratio``, a minimum ratio of the baseline's cost to ours, or ``aim_most``, a maximum cost.
    """

    benchmark: str
    case: str
    unit: str
    ours: float
    baseline: float | None = None
    baseline_name: str = ""
    aim_ratio: float | None = None
    aim_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """The ratio of the baseline's cost to ours."""
        return None if self.baseline is None or not self.ours else self.baseline / self.ours

    @property
    def aim(self) -> str:
        """The aim as text; empty if there is none."""
        if self.aim_ratio is not None:
            return f"{self.aim_ratio:,.3g}x" if self.aim_ratio < 1000 else f"{self.aim_ratio:,.0f}x"
        return "" if self.aim_most is None else f"under {self.aim_most:g} {self.unit}"

    @property
    def outcome(self) -> str:
        """Whether the aim was reached; empty if there is none."""
        if not self.aim:
            return ""
        ratio_reached = self.aim_ratio is None or (self.ratio or 0.0) >= self.aim_ratio
        most_reached = self.aim_most is None or self.ours < self.aim_most
        return "reached" if ratio_reached and most_reached else "missed"

    def __str__(self) -> str:
        against = (
            ""
            if self.baseline is None
            else f" | {self.baseline_name} {number(self.baseline)} | ratio {times(self.ratio)}"
        )
        return f"{self.benchmark}: {self.case}: ours {number(self.ours)}{against} [{self.unit}]"


def number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float | None) -> str:
    """A ratio as text."""
    return "–" if ratio is None else f"{number(ratio)}x"


def as_table(results: Sequence[Result]) -> Table:
    """One line a result."""
    headings = ("benchmark", "case", "unit", "ours", "baseline", "baseline is", "ratio", "aim", "outcome")
    rows = tuple((*_texts(r), r.aim or "–", r.outcome or "–") for r in results)
    return Table("benchmarks", tuple(Column(heading, heading) for heading in headings), rows)


def _texts(result: Result) -> tuple[str, ...]:
    costs = number(result.ours), number(result.baseline), result.baseline_name or "–", times(result.ratio)
    return result.benchmark, result.case, result.unit, *costs


def write_json(results: Sequence[Result], path: Path) -> None:
    """All results with their ratios and outcomes."""
    rows = [{**asdict(r), "ratio": r.ratio, "aim": r.aim, "outcome": r.outcome} for r in results]
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def verify(condition: bool, claim: str) -> None:
    """Stop the run if our result and that of the baseline do not agree."""
    if not condition:
        raise SystemExit(f"not so: {claim}")
    print(f"  verified: {claim}")
