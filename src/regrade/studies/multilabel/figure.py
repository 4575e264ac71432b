"""The figure of multi-label accuracy: each model's accuracy by the labels against top-1 and against top-5."""

from __future__ import annotations

from typing import Any

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, panel_heading, percent_axis
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.studies.multilabel.findings import multilabel_findings
from regrade.studies.multilabel.result import Multilabel, MultilabelRow

_SIZE = 235
_MARGIN = 1.0  # points around the accuracies


def multilabel_figure(result: Multilabel) -> Figure:
    """Multi-label accuracy over top-1, and over top-5 for the models that have it, with the line of equality."""
    title = multilabel_findings(result)[0].headline
    panels = [_panel(result, "top1", result.change, 0)]
    if result.top5_change:
        panels.append(_panel(result, "top5", result.top5_change, 1))
    method = result.rows[0].multilabel.method
    subtitle = (
        f"Accuracy of {amount(len(result.rows), 'model')} on the same {amount(result.images, 'image')} of "
        f"{result.title}, with intervals ({method}). On the dashed line both accuracies are equal; the solid one is at "
        "the median change, in points with its interval."
    )
    chart = altair.hconcat(*panels, spacing=24, title=heading(title, subtitle))
    return Figure(f"multi-label accuracy on {result.test_set}", f"{title}. {subtitle}", chart)


def _panel(result: Multilabel, key: str, median: Estimate, place: int) -> altair.LayerChart:
    points = [_point(row, key) for row in result.rows if getattr(row, key)]
    name = {"top1": "top-1", "top5": "top-5"}[key]
    low, high = _range(points)
    scale = altair.Scale(domain=[low, high], nice=False, zero=False)
    x = altair.X("value:Q", scale=scale, axis=percent_axis(f"{name} accuracy", tickCount=5))
    y = altair.Y("labels:Q", scale=scale, axis=percent_axis("multi-label accuracy", tickCount=5))
    tooltip = [altair.Tooltip(f"{field}:N") for field in ("model", "before", "multilabel", "change")]
    base = altair.Chart(inline(points)).encode(color=altair.value(COLORS[place]), tooltip=tooltip)
    return layered(
        _diagonal(low, high, 0.0).mark_line(color=GRAY, strokeDash=[4, 4], strokeWidth=1).encode(x=x, y=y),
        _diagonal(low, high, 100 * median.value).mark_line(color=GRAY, strokeWidth=1).encode(x=x, y=y),
        base.mark_rule().encode(x=altair.X("value_low:Q", scale=scale), x2="value_high:Q", y=y),
        base.mark_rule().encode(x=x, y=altair.Y("labels_low:Q", scale=scale), y2="labels_high:Q"),
        base.mark_point(shape=SHAPES[place], size=30, opacity=1).encode(x=x, y=y),
    ).properties(width=_SIZE, height=_SIZE, title=panel_heading(f"median {_words(median)}", width=_SIZE))


def _point(row: MultilabelRow, key: str) -> dict[str, Any]:
    before, change = (row.top1, row.change) if key == "top1" else (row.top5, row.top5_change)
    assert before is not None and change is not None
    return {
        "model": row.model,
        **interval(before),
        **interval(row.multilabel, "labels"),
        "before": interval_text(before),
        "multilabel": interval_text(row.multilabel),
        "change": interval_text(change),
    }


def _range(points: list[dict[str, Any]]) -> tuple[float, float]:
    """The range of both axes."""
    values = [point[key] for point in points for key in ("value_low", "value_high", "labels_low", "labels_high")]
    return max(min(values) - _MARGIN, 0.0), min(max(values) + _MARGIN, 100.0)


def _diagonal(low: float, high: float, shift: float) -> altair.Chart:
    """The part of the line y = x + shift within the range of the axes."""
    start, end = max(low, low - shift), min(high, high - shift)
    return altair.Chart(inline([{"value": at, "labels": at + shift} for at in (start, end)]))


def _words(median: Estimate) -> str:
    value, low, high = (f"{100 * part:+.1f}".replace("-", "−") for part in (median.value, median.low, median.high))
    return f"{value} [{low}, {high}]"
