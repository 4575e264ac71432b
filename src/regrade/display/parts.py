"""Common parts of figures: headings, percent axes, intervals and labels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regrade.core import Estimate
from regrade.display.lazy_altair import altair
from regrade.display.style import INK, LARGE, SMALL, TEXT, WIDTH

_LETTER = 0.53  # the mean width of a letter, relative to the font size
_BOLD = 0.57


def heading(title: str, *subtitle: str, width: int = WIDTH) -> altair.TitleParams:
    """A title with the finding or the question, and a subtitle; long lines are wrapped."""
    lines = [line for part in subtitle for line in _broken(part, width / (_LETTER * TEXT))]
    return altair.TitleParams(text=_broken(title, width / (_BOLD * LARGE)), subtitle=lines)


def panel_heading(title: str, *subtitle: str, width: int = WIDTH) -> altair.TitleParams:
    """A heading for one of several panels of a figure, smaller than the figure's own."""
    size = TEXT + 2
    lines = [line for part in subtitle for line in _broken(part, width / (_LETTER * TEXT))]
    broken = _broken(title, width / (_BOLD * size))
    return altair.TitleParams(text=broken, subtitle=lines, fontSize=size, lineHeight=18, offset=10)


def inline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Inline data of a chart; set large data on the outermost chart, since each altair method call copies it."""
    return {"values": rows}


def layered(*charts: altair.Chart) -> altair.LayerChart:
    """Charts layered on top of each other."""
    return altair.LayerChart(layer=list(charts))


def percent(fraction: float) -> float:
    """A fraction in percent, rounded to two decimals."""
    return round(100 * fraction, 2)


def interval(estimate: Estimate, name: str = "value") -> dict[str, float]:
    """An estimate and its bounds in percent, as fields ``name``, ``name_low`` and ``name_high``."""
    parts = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {key: percent(value) for key, value in parts.items()}


def interval_text(estimate: Estimate, *, digits: int = 1) -> str:
    """An estimate with its interval in percent, for tooltips."""
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return f"{value:.{digits}f}% [{low:.{digits}f}, {high:.{digits}f}]"


def percent_axis(title: str, **options: Any) -> altair.Axis:
    """An axis over numbers in percent."""
    return altair.Axis(title=f"{title}, in %", **options)


def name_axis(count: int, **options: Any) -> altair.Axis:
    """An axis for ``count`` names, without title and grid, in a smaller font if there are many."""
    size = TEXT if count <= 24 else SMALL
    return altair.Axis(title=None, grid=False, ticks=False, domain=False, labelFontSize=size, labelPadding=6, **options)


def name_step(count: int) -> int:
    """The row height for ``count`` names, in pixels."""
    return 22 if count <= 24 else 13


def direct_labels(
    rows: Sequence[dict[str, Any]], *, x: str, y: str, text: str = "model", **options: Any
) -> altair.Chart:
    """Text labels next to their marks, for a few rows; ``options`` are those of a text mark."""
    mark = {"align": "left", "baseline": "middle", "dx": 7, "fontSize": TEXT, "color": INK, **options}
    return (
        altair.Chart(inline(rows))
        .mark_text(**mark)
        .encode(x=altair.X(f"{x}:Q"), y=altair.Y(f"{y}:Q"), text=altair.Text(f"{text}:N"))
    )


def halo(text: altair.Chart) -> altair.Chart:
    """The white outline of a text mark, to be drawn below it, so that the text is readable on top of other marks."""
    outline = text.copy(deep=False)
    outline.mark = text.mark.copy()
    outline.mark.stroke, outline.mark.strokeWidth, outline.mark.strokeJoin = "white", 4, "round"
    return outline


def apart(rows: Iterable[dict[str, Any]], *, x: str, y: str, wide: float, high: float) -> list[dict[str, Any]]:
    """The rows whose names do not cover an earlier one, if names are ``wide`` and ``high`` in the units of the axes."""
    named: list[dict[str, Any]] = []
    for row in rows:
        if all(abs(row[x] - earlier[x]) > wide or abs(row[y] - earlier[y]) >= high for earlier in named):
            named.append(row)
    return named


def _broken(text: str, letters: float) -> list[str]:
    return textwrap.wrap(text, max(int(letters), 20), break_on_hyphens=False) or [""]
