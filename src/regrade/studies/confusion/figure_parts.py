"""Common parts of the figures of a confusion study."""

from __future__ import annotations

from typing import Any

from regrade.core import Estimate
from regrade.display.figure import Figure
from regrade.display.parts import heading
from regrade.studies.confusion.result import Confusion


def titled_figure(result: Confusion, title: str, subtitle: str, chart: Any) -> Figure:
    """A chart with its heading."""
    head = heading(title, subtitle)
    return Figure(f"confusion on {result.test_set}", f"{title}. {subtitle}.", chart.properties(title=head))


def plain_interval(estimate: Estimate | None) -> dict[str, float]:
    """An estimate that is not a share, with its bounds."""
    if estimate is None:
        return {}
    parts = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: round(part, 4) for name, part in parts.items()}


def numbers(estimate: Estimate | None, digits: int = 2) -> str:
    """An estimate that is not a share, with its interval, as text."""
    if estimate is None:
        return ""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
