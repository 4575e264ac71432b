"""The figure of a study of remedies: the difference to the baseline per test set, slice and group.

Remedies of one baseline differ in color; interventions with base models of their own are rows.
"""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, panel_heading
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.display.wording import listed
from regrade.studies.remedies.findings import remedies_findings
from regrade.studies.remedies.result import Remedies, RemedyMeasure, RemedyRow
from regrade.studies.scoring import FEWEST_DRAWN

_WIDTH, _STEP, _LABEL = 360, 14, 300
_REMEDIES = len(COLORS)
_INTERVENTIONS = 40
_ALL = "interventions"  # the only series of a figure in which every row names both models


def remedies_figure(result: Remedies) -> Figure:
    """Differences with their intervals, a panel per test set or slice; zero is no difference."""
    drawn = list(result.remedies[: _INTERVENTIONS if result.baseline is None else _REMEDIES])
    rows = [row for row in result.rows if row.remedy in drawn and not _is_small_part(row)]
    series = [_ALL] if result.baseline is None else drawn
    places = list(dict.fromkeys(row.place for row in rows))
    panels = [_panel(place, [row for row in rows if row.place == place], series) for place in places]
    title = remedies_findings(result)[0].headline
    subtitle = _subtitle(result, drawn)
    chart = altair.vconcat(*panels, spacing=24).resolve_scale(x="shared").properties(title=heading(title, subtitle))
    return Figure(f"remedies compared with {result.reference}", f"{title}. {subtitle}", chart)


def _is_small_part(row: RemedyRow) -> bool:
    """Whether a row is about a slice or group with too few images to be drawn."""
    return (row.group is not None or row.slice is not None) and row.images < FEWEST_DRAWN


def _subtitle(result: Remedies, drawn: list[str]) -> str:
    shown = f"; the first {len(drawn)} of {len(result.remedies)} remedies" if len(drawn) < len(result.remedies) else ""
    if small := len({(row.place, row.group) for row in result.rows if _is_small_part(row)}):
        shown += (
            f"; {amount(small, 'slice or group', 'slices or groups')} with fewer than {FEWEST_DRAWN} images not drawn"
        )
    together = ", simultaneous for all differences" if len(result.rows) > 1 else ""
    lower = dict.fromkeys(row.measure.value for row in result.rows if row.measure.less_is_better)
    less = f" Less {listed(list(lower))} is better." if lower else ""
    return (
        f"Top-{result.top} accuracy of {listed(drawn)} minus that of {result.reference} on the same images, with "
        f"{100 * result.confidence:g}% intervals{together}{shown}.{less}"
    )


def _label(row: RemedyRow, series: list[str]) -> str:
    """The label of a row: what it measures or, if every remedy has a base model of its own, both models."""
    if series != [_ALL]:
        return row.label
    names = f"{row.remedy} − {row.compared_with}"
    return names if row.measure is RemedyMeasure.ACCURACY else f"{names}: {row.label}"


def _panel(name: str, rows: list[RemedyRow], drawn: list[str]) -> altair.LayerChart:
    labels = list(dict.fromkeys(_label(row, drawn) for row in rows))
    points = [
        {
            "label": _label(row, drawn), "remedy": _ALL if drawn == [_ALL] else row.remedy,
            **interval(row.difference), "verdict": row.verdict.value, "difference": interval_text(row.difference),
            "images": row.images,
        }
        for row in rows
    ]  # fmt: skip
    y = altair.Y(
        "label:N", sort=labels, axis=name_axis(len(labels), labelLimit=_LABEL), scale=altair.Scale(paddingInner=0.3)
    )
    tooltip = [altair.Tooltip(f"{key}:N") for key in ("remedy", "label", "difference", "verdict", "images")]
    legend = altair.Legend(title=None, orient="top") if len(drawn) > 1 else None
    colors, shapes = (altair.Scale(domain=drawn, range=list(palette[: len(drawn)])) for palette in (COLORS, SHAPES))
    color = altair.Color("remedy:N", sort=drawn, scale=colors, legend=legend)
    shape = altair.Shape("remedy:N", sort=drawn, scale=shapes, legend=legend)
    offset = altair.YOffset("remedy:N", sort=drawn, scale=altair.Scale(domain=drawn))
    base = altair.Chart(inline(points)).encode(y=y, yOffset=offset, color=color, tooltip=tooltip)
    axis: dict[str, Any] = {"axis": altair.Axis(title="remedy minus baseline, in points", tickCount=6)}
    none = altair.Chart(inline([{"none": 0}])).mark_rule(color=GRAY, strokeDash=[5, 4])
    return layered(
        none.encode(x=altair.X("none:Q")),
        base.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q", **axis), x2="value_high:Q"),
        base.mark_point(size=70).encode(x=altair.X("value:Q", **axis), shape=shape),
    ).properties(width=_WIDTH, height=len(labels) * (_STEP * len(drawn) + 8), title=panel_heading(f"on {name}"))
