"""The figure of a study of a shift: the area under the ROC curve of every model, and the curves themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered, name_axis, name_step, panel_heading, percent
from regrade.display.style import COLORS, GRAY, INK, SHAPES
from regrade.display.wording import plain
from regrade.studies.shift.findings import shift_findings
from regrade.studies.shift.result import EmbeddingShift, Shift, ShiftVerdict

_MODELS = 60  # the most rows that are readable
_CURVES = len(COLORS)  # the most curves that are distinguishable
_RATES = np.linspace(0, 1, 101)
_WIDTH, _SIDE = 440, 300
_VERDICTS = [verdict.value for verdict in ShiftVerdict]


def shift_figure(result: Shift) -> Figure:
    """Every model's area under the ROC curve with its interval and chance; below, the curves of the best models."""
    rows = result.ranked[:_MODELS]
    title = shift_findings(result)[0].headline
    subtitle = (
        f"A linear classifier on embeddings tells {result.new} from {result.original}, on images it has not seen; "
        "images that it tells apart may differ in what they show, or only in sizes and JPEG compression."
    )
    chart = altair.vconcat(_areas(result, rows), _curves(result, rows[:_CURVES]), spacing=28)
    chart = chart.resolve_scale(color="independent", shape="independent")
    alt = f"{title}. Areas under the ROC curve: {'; '.join(f'{row.model} {plain(row.auc)}' for row in rows[:_CURVES])}."
    name = f"shift from {result.original} to {result.new}"
    return Figure(name, alt, chart.properties(title=heading(title, subtitle)))


def _areas(result: Shift, rows: Sequence[EmbeddingShift]) -> altair.LayerChart:
    points = [
        {
            "model": row.model, "area": row.auc.value, "low": row.auc.low, "high": row.auc.high,
            "shown": plain(row.auc), "verdict": row.verdict.value, "new": row.new_images,
            "original": row.original_images,
        }
        for row in rows
    ]  # fmt: skip
    names = [row.model for row in rows]
    lowest = np.floor(10 * min(0.45, *(row.auc.low for row in rows))) / 10
    x: dict[str, Any] = {
        "scale": altair.Scale(domain=[lowest, 1], nice=False),
        "axis": altair.Axis(title="area under the ROC curve", format=".1f", tickCount=6),
    }
    base = altair.Chart(inline(points)).encode(
        y=altair.Y("model:N", sort=names, axis=name_axis(len(names))),
        color=altair.Color("verdict:N", scale=_scale(_VERDICTS, (COLORS[1], COLORS[0])), legend=_legend()),
        tooltip=[
            altair.Tooltip("model:N", title="embeddings of"), altair.Tooltip("shown:N", title="area"),
            altair.Tooltip("verdict:N"), altair.Tooltip("new:Q", title=f"images of {result.new}", format=","),
            altair.Tooltip("original:Q", title=f"images of {result.original}", format=","),
        ],
    )  # fmt: skip
    shape = altair.Shape("verdict:N", scale=_scale(_VERDICTS, SHAPES[:2]), legend=_legend())
    chance = altair.Chart(inline([{"chance": 0.5}])).mark_rule(color=INK, strokeDash=[4, 3])
    chart = layered(
        chance.encode(x=altair.X("chance:Q", **x)),
        base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", **x), x2="high:Q"),
        base.mark_point().encode(x=altair.X("area:Q", **x), shape=shape),
    )
    together = ", for all models together" if len(result.rows) > 1 else ""
    which = f"; the {len(rows)} best of {len(result.rows):,} models" if len(rows) < len(result.rows) else ""
    title = panel_heading(
        "How well the sets are told apart",
        f"The dashed line is chance; intervals{together}: {rows[0].auc.method}{which}",
        width=_WIDTH,
    )
    return chart.properties(width=_WIDTH, height=max(len(names), 2) * name_step(len(names)), title=title)


def _curves(result: Shift, rows: Sequence[EmbeddingShift]) -> altair.LayerChart:
    points = [
        {"model": row.model, "taken": percent(rate), "recognized": percent(share)}
        for row in rows
        for rate, share in zip(_RATES.tolist(), row.roc_curve(_RATES).tolist(), strict=True)
    ]
    names = [row.model for row in rows]
    scale = altair.Scale(domain=[0, 100], nice=False)
    x: dict[str, Any] = {
        "scale": scale,
        "axis": altair.Axis(title=f"images of {result.original} taken for {result.new}, in %", tickCount=5),
    }
    y: dict[str, Any] = {
        "scale": scale,
        "axis": altair.Axis(title=f"images of {result.new} recognized, in %", tickCount=5),
    }
    end = altair.datum(100)
    diagonal = altair.Chart().mark_rule(color=GRAY, strokeDash=[4, 3], strokeWidth=1)
    lines = altair.Chart(inline(points)).mark_line(interpolate="step-after", strokeWidth=1.8)
    tooltip = [
        altair.Tooltip("model:N", title="embeddings of"), altair.Tooltip("taken:Q", title=f"{result.original}, %"),
        altair.Tooltip("recognized:Q", title=f"{result.new}, %"),
    ]  # fmt: skip
    chart = layered(
        diagonal.encode(x=altair.XDatum(0, **x), y=altair.YDatum(0, **y), x2=end, y2=end),
        lines.encode(
            x=altair.X("taken:Q", **x),
            y=altair.Y("recognized:Q", **y),
            color=altair.Color("model:N", sort=names, scale=_scale(names, COLORS), legend=_legend()),
            tooltip=tooltip,
        ),
    )
    which = f" The {len(rows)} best models." if len(rows) < len(result.rows) else ""
    title = panel_heading(
        "Which images are told apart",
        "ROC curves within folds; the dashed line is chance. A curve that leaves the left edge high up recognizes some "
        f"images at once; an even bow means that all images differ a little.{which}",
        width=_WIDTH,
    )
    return chart.properties(width=_SIDE, height=_SIDE, title=title)


def _legend() -> altair.Legend:
    return altair.Legend(title=None, orient="bottom", columns=2, symbolOpacity=1)


def _scale(names: Sequence[str], values: Sequence[str]) -> altair.Scale:
    return altair.Scale(domain=list(names), range=list(values[: len(names)]))
