"""The figure of a study of selection frequencies: accuracies by frequency bin, and how many images each bin has."""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import (
    heading,
    inline,
    interval,
    interval_text,
    layered,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, SHAPES, WIDTH
from regrade.studies.frequency.findings import frequency_findings
from regrade.studies.frequency.result import Frequency
from regrade.studies.scoring import FEWEST_DRAWN

_HEIGHT, _LOW = 300, 110
_WIDE = WIDTH - 20


def frequency_figure(result: Frequency) -> Figure:
    """Top: the mean accuracy by frequency with intervals, thin lines for the models. Bottom: the images of each bin."""
    title = next((finding.headline for finding in frequency_findings(result)), f"Frequencies of {result.test_sets[0]}")
    models = amount(len(result.models), "model")
    subtitle = (
        f"Mean accuracy of {models} by selection frequency, the share of people who select an image for its class; "
        f"{100 * result.confidence:g}% intervals over images, for all bins together. Thin lines: single models, in "
        f"bins of at least {FEWEST_DRAWN} images."
    )
    chart = altair.vconcat(_accuracies(result), _images(result), spacing=24)
    name = f"accuracy on {', '.join(result.test_sets)} by selection frequency"
    return Figure(name, f"{title}. {subtitle}", chart.properties(title=heading(title, subtitle)))


def _accuracies(result: Frequency) -> altair.LayerChart:
    x, color, offset = _bins(result, axis=False), _color(result, legend=True), _offset(result)
    up: dict[str, Any] = {"scale": altair.Scale(zero=False), "axis": percent_axis("accuracy")}
    tooltip = [
        altair.Tooltip("test_set:N", title="test set"), altair.Tooltip("bin:N", title="frequency"),
        altair.Tooltip("shown:N", title="mean accuracy"), altair.Tooltip("images:Q", format=","),
    ]  # fmt: skip
    shape = altair.Shape(
        "test_set:N", sort=list(result.test_sets), legend=_legend(result), scale=_scale(result, SHAPES)
    )
    lines = altair.Chart(inline(_model_points(result))).mark_line(strokeWidth=0.7, opacity=0.3)
    base = altair.Chart(inline(_points(result))).encode(x=x, color=color, xOffset=offset, tooltip=tooltip)
    return layered(
        lines.encode(x=x, xOffset=offset, y=altair.Y("value:Q", **up), color=color, detail="model:N"),
        base.mark_rule(strokeWidth=2).encode(y=altair.Y("value_low:Q", **up), y2="value_high:Q"),
        base.mark_point(stroke="white", strokeWidth=0.5, size=80).encode(y=altair.Y("value:Q", **up), shape=shape),
    ).properties(width=_WIDE, height=_HEIGHT)


def _points(result: Frequency) -> list[dict[str, Any]]:
    return [
        {
            "test_set": row.test_set, "bin": row.bin, "images": row.images, "shown": interval_text(row.accuracy),
            **interval(row.accuracy),
        }
        for row in result.bins
        if row.accuracy
    ]  # fmt: skip


def _model_points(result: Frequency) -> list[dict[str, Any]]:
    return [
        {"model": row.model, "test_set": row.test_set, "bin": row.bin, "value": percent(row.accuracy.value)}
        for row in result.by_model
        if row.accuracy.n >= FEWEST_DRAWN
    ]


def _images(result: Frequency) -> altair.Chart:
    rows = [
        {"test_set": row.test_set, "bin": row.bin, "images": row.images, "share": percent(row.share)}
        for row in result.bins
        if row.images
    ]
    tooltip = [
        altair.Tooltip("test_set:N", title="test set"), altair.Tooltip("bin:N", title="frequency"),
        altair.Tooltip("images:Q", format=","), altair.Tooltip("share:Q", title="% of the images"),
    ]  # fmt: skip
    bars = altair.Chart(inline(rows)).mark_bar().encode(
        x=_bins(result, axis=True), xOffset=_offset(result), color=_color(result, legend=False), tooltip=tooltip,
        y=altair.Y("share:Q", axis=altair.Axis(title="share of the images, in %", tickCount=4)),
    )  # fmt: skip
    return bars.properties(width=_WIDE, height=_LOW)


def _bins(result: Frequency, *, axis: bool) -> altair.X:
    filled = {row.bin for row in result.bins if row.images}
    names = [name for name in result.names if name in filled]
    shown = altair.Axis(title="selection frequency", labelAngle=0, grid=False) if axis else None
    return altair.X("bin:N", sort=names, scale=altair.Scale(domain=names), axis=shown)


def _offset(result: Frequency) -> altair.XOffset:
    names = list(result.test_sets)
    return altair.XOffset("test_set:N", sort=names, scale=altair.Scale(domain=names, paddingOuter=0.4))


def _color(result: Frequency, *, legend: bool) -> altair.Color:
    return altair.Color(
        "test_set:N",
        sort=list(result.test_sets),
        scale=_scale(result, COLORS),
        legend=_legend(result) if legend else None,
    )


def _legend(result: Frequency) -> altair.Legend | None:
    return altair.Legend(title=None, orient="top", symbolOpacity=1) if len(result.test_sets) > 1 else None


def _scale(result: Frequency, palette: tuple[str, ...]) -> altair.Scale:
    names = list(result.test_sets)
    return altair.Scale(domain=names, range=[palette[place % len(palette)] for place in range(len(names))])
