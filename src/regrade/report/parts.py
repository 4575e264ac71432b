"""Parts that figures have in common: headings, axes in percent, intervals, names beside their marks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair

from regrade.core import Estimate
from regrade.report.style import INK, LARGE, SMALL, TEXT, WIDTH

_LETTER = 0.53  # the mean width of a letter, for each pixel of its size
_BOLD = 0.57


def heading(title: str, *subtitle: str, width: int = WIDTH) -> altair.TitleParams:
    """A title, which says the finding or the question, above what is drawn; long ones are broken into lines."""
    lines = [line for part in subtitle for line in _broken(part, width / (_LETTER * TEXT))]
    return altair.TitleParams(text=_broken(title, width / (_BOLD * LARGE)), subtitle=lines)


def panel_heading(title: str, *subtitle: str, width: int = WIDTH) -> altair.TitleParams:
    """A heading for one of several panels of a figure, in smaller letters than the figure's own."""
    size = TEXT + 2
    lines = [line for part in subtitle for line in _broken(part, width / (_LETTER * TEXT))]
    broken = _broken(title, width / (_BOLD * size))
    return altair.TitleParams(text=broken, subtitle=lines, fontSize=size, lineHeight=18, offset=10)


def inline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows of data that a chart carries with it; of many rows give it to the outermost chart, as each step copies."""
    return {"values": rows}


def layered(*charts: altair.Chart) -> altair.LayerChart:
    """Charts over each other."""
    return altair.LayerChart(layer=list(charts))


def percent(fraction: float) -> float:
    """A fraction in percent, rounded to what can be seen."""
    return round(100 * fraction, 2)


def interval(estimate: Estimate, name: str = "value") -> dict[str, float]:
    """An estimate and its bounds in percent, as fields ``name``, ``name_low`` and ``name_high``."""
    parts = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {key: percent(value) for key, value in parts.items()}


def interval_text(estimate: Estimate, *, digits: int = 1) -> str:
    """An estimate in percent as tooltips show it."""
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return f"{value:.{digits}f}% [{low:.{digits}f}, {high:.{digits}f}]"


def percent_axis(title: str, **options: Any) -> altair.Axis:
    """An axis over numbers in percent."""
    return altair.Axis(title=f"{title}, in %", **options)


def name_axis(count: int, **options: Any) -> altair.Axis:
    """An axis over so many names, without a title or a grid, in smaller letters where they are many."""
    size = TEXT if count <= 24 else SMALL
    return altair.Axis(title=None, grid=False, ticks=False, domain=False, labelFontSize=size, labelPadding=6, **options)


def name_step(count: int) -> int:
    """The height of a line with a name, in pixels."""
    return 22 if count <= 24 else 13


def direct_labels(
    rows: Sequence[dict[str, Any]], *, x: str, y: str, text: str = "model", **options: Any
) -> altair.Chart:
    """Names beside their marks, for the few rows that matter; ``options`` are those of a text mark."""
    mark = {"align": "left", "baseline": "middle", "dx": 7, "fontSize": TEXT, "color": INK, **options}
    return (
        altair.Chart(inline(rows))
        .mark_text(**mark)
        .encode(x=altair.X(f"{x}:Q"), y=altair.Y(f"{y}:Q"), text=altair.Text(f"{text}:N"))
    )


def _broken(text: str, letters: float) -> list[str]:
    return textwrap.wrap(text, max(int(letters), 20), break_on_hyphens=False) or [""]
