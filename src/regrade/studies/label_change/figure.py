"""The figure of two label versions: every model's accuracy before and after, and the difference."""

from __future__ import annotations

from typing import Any

from regrade.core import UndefinedError
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import (
    heading,
    inline,
    interval,
    interval_text,
    layered,
    name_axis,
    name_step,
    percent_axis,
)
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.studies.label_change.analysis import LabelChange, ModelChange
from regrade.studies.label_change.findings import label_change_findings

_MODELS = 60  # the most rows that are readable


def label_change_figure(result: LabelChange) -> Figure:
    """Two dots joined by a line for each model, largest change first, and the difference next to them."""
    rows = [row for row in result.models if row.difference is not None]
    if not rows:
        raise UndefinedError("no model is scored under both versions: there is nothing to draw")
    drawn = [_point(row) for row in rows[:_MODELS]]
    title = label_change_findings(result)[0].headline
    shown = f"; the {_MODELS} of {len(rows):,} models with the largest change" if len(rows) > _MODELS else ""
    method = rows[0].difference.method if rows[0].difference else ""
    chart = altair.hconcat(
        _dumbbells(result, drawn), _differences(drawn), spacing=18, title=heading(
            title,
            f"Multi-label accuracy on {result.test_set.name} under {result.diff.before} and {result.diff.after}, each "
            f"over the images that it scores, and the difference over those that both score, with its interval "
            f"({method}){shown}",
        ),
    )  # fmt: skip
    alt = f"{title}. Accuracies of {amount(len(rows), 'model')} under two versions of labels, and the differences."
    return Figure(f"labels {result.diff.before} to {result.diff.after}", alt, chart)


def _point(row: ModelChange) -> dict[str, Any]:
    parts: dict[str, Any] = {"model": row.model, "gained": row.gained, "lost": row.lost}
    for name in ("before", "after", "difference"):
        estimate = getattr(row, name)
        parts |= {
            **interval(estimate, name),
            f"{name}_text": interval_text(estimate, digits=2),
            f"{name}_n": estimate.n,
        }
    images = row.difference.n if row.difference else 0
    return parts | {"images": images, "ranks": f"{row.rank_before} to {row.rank_after}"}


def _dumbbells(result: LabelChange, rows: list[dict[str, Any]]) -> altair.LayerChart:
    kinds = [result.diff.before, result.diff.after]
    points = [
        {**row, "labels": kind, "value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}
        for row in rows
        for kind, name in zip(kinds, ("before", "after"), strict=True)
    ]
    scale = altair.Scale(domain=kinds, range=[GRAY, COLORS[0]])
    legend = altair.Legend(title=None, symbolOpacity=1)
    color = altair.Color("labels:N", sort=kinds, scale=scale, legend=legend)
    shape = altair.Shape("labels:N", sort=kinds, scale=altair.Scale(domain=kinds, range=[SHAPES[1], SHAPES[0]]))
    base = altair.Chart(inline(points)).encode(y=_names(rows, labels=True), tooltip=_tooltip())
    x = altair.X("value:Q", scale=altair.Scale(zero=False), axis=percent_axis("multi-label accuracy", tickCount=4))
    joined = altair.Chart(inline(rows)).encode(y=_names(rows, labels=True), tooltip=_tooltip())
    return layered(
        base.mark_rule(strokeWidth=5, opacity=0.18).encode(x=altair.X("low:Q"), x2="high:Q", color=color),
        joined.mark_rule(strokeWidth=1.5, color=GRAY).encode(x=altair.X("before:Q"), x2="after:Q"),
        base.mark_point(size=60).encode(x=x, color=color, shape=shape),
    ).properties(width=215, height=_height(rows))


def _differences(rows: list[dict[str, Any]]) -> altair.LayerChart:
    base = altair.Chart(inline(rows)).encode(y=_names(rows, labels=False), tooltip=_tooltip())
    x = altair.X("difference:Q", axis=altair.Axis(title="difference, in points", tickCount=4))
    return layered(
        altair.Chart(inline([{"zero": 0}])).mark_rule(color=GRAY, strokeDash=[3, 3]).encode(x="zero:Q"),
        base.mark_rule(strokeWidth=2, color=COLORS[0]).encode(x=altair.X("difference_low:Q"), x2="difference_high:Q"),
        base.mark_point(color=COLORS[0]).encode(x=x),
    ).properties(width=150, height=_height(rows))


def _names(rows: list[dict[str, Any]], *, labels: bool) -> altair.Y:
    order = [row["model"] for row in rows]
    axis = name_axis(len(rows), labelLimit=130) if labels else None
    return altair.Y("model:N", sort=order, axis=axis)


def _height(rows: list[dict[str, Any]]) -> int:
    return len(rows) * name_step(len(rows))


def _tooltip() -> list[altair.Tooltip]:
    titles = {
        "model": "model", "before_text": "before", "after_text": "after", "difference_text": "difference",
        "images": "images that both score", "gained": "right only now", "lost": "right only before",
        "ranks": "rank",
    }  # fmt: skip
    return [altair.Tooltip(f"{key}:N", title=title) for key, title in titles.items()]
