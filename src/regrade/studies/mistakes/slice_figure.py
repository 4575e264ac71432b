"""The figure of a slice: right predictions on it against top-1 accuracy on all images, for every model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import (
    apart,
    direct_labels,
    halo,
    heading,
    inline,
    interval,
    interval_text,
    layered,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, SHAPES, WIDTH
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.severity import ModelSeverity

_NAMED = 6  # models whose names fit
_CHOSE, _FREE = "took part in choosing the slice", "did not take part"


def slice_figure(result: Mistakes) -> Figure | None:
    """One point per model with both intervals; None without a slice, or without models scored on it."""
    rows = [row for row in result.severities if row.right and row.right_at_most and row.top1]
    if not result.slice or not rows:
        return None
    title = _title(rows, result.slice)
    novel = "; thick lines reach to the value with novel predictions counted as right" if _novel(rows) else ""
    level = f"{100 * result.confidence:g}% intervals, each on its own (Clopper-Pearson){novel}"
    caution = [note for note in result.slice_notes if note.startswith("caution")]
    points = [_point(row) for row in rows]
    chart = _chart(points, rows, result.slice).properties(
        title=heading(
            title, f"{result.test_set} under {result.labels}. Right: correct or unclear. {level}", *_sentences(caution)
        ),
        width=WIDTH - 80,
        height=340,
    )
    return Figure(f"{result.slice} of {result.test_set}", f"{title}.", chart)


def _title(rows: Sequence[ModelSeverity], name: str) -> str:
    best = max(rows, key=lambda row: row.right_images or 0)
    what = f"{best.right_images:,} of {amount(best.images, 'image')} of {name}"
    if len(rows) == 1:
        return f"{best.model} is right on {what}"
    return f"No model is {'judged ' if _novel(rows) else ''}right on more than {what}"


def _novel(rows: Sequence[ModelSeverity]) -> bool:
    return any(row.novel for row in rows)


def _sentences(notes: Sequence[str]) -> list[str]:
    return [note[0].upper() + note[1:] for note in notes]


def _point(row: ModelSeverity) -> dict[str, Any]:
    assert row.right and row.right_at_most and row.top1
    return {
        **interval(row.right), **interval(row.top1, "top1"),
        "model": row.model, "group": _CHOSE if row.chose else _FREE,
        "most": percent(row.right_at_most.value), "highest": percent(row.right_at_most.high),
        "shown": interval_text(row.right), "top1_shown": interval_text(row.top1), "right": row.right_images,
        "images": row.images, "major": row.major, "open": row.open, "novel": row.novel,
    }  # fmt: skip


def _chart(points: list[dict[str, Any]], rows: Sequence[ModelSeverity], name: str) -> altair.LayerChart:
    groups = [group for group in (_FREE, _CHOSE) if any(point["group"] == group for point in points)]
    legend = altair.Legend(title=None, columns=2, symbolOpacity=1) if len(groups) > 1 else None
    color = altair.Color(
        "group:N", sort=groups, scale=altair.Scale(domain=[_FREE, _CHOSE], range=list(COLORS[:2])), legend=legend
    )
    shape = altair.Shape(
        "group:N", sort=groups, scale=altair.Scale(domain=[_FREE, _CHOSE], range=list(SHAPES[:2])), legend=legend
    )
    lows, highs = ([point[key] for point in points] for key in ("top1_low", "top1_high"))
    scale = altair.Scale(domain=[max(0.0, min(lows) - 2), min(100.0, max(highs) + 2)], nice=False)
    x = altair.X("top1:Q", axis=percent_axis("top-1 accuracy on all images"), scale=scale)
    base = altair.Chart().encode(color=color, tooltip=_tooltip())
    upright = base.mark_rule().encode(x=x, y="value_low:Q", y2="highest:Q")
    across = base.mark_rule().encode(x="top1_low:Q", x2="top1_high:Q", y="value:Q")
    bounds = base.mark_rule(opacity=0.6, strokeWidth=4).encode(x=x, y="value:Q", y2="most:Q")
    y = altair.Y(
        "value:Q", axis=percent_axis(f"right on {name}"), scale=altair.Scale(domainMin=0, domainMax=_top(points))
    )
    layers = [upright, across, *([bounds] if _novel(rows) else []), base.mark_point().encode(x=x, y=y, shape=shape)]
    names = direct_labels(_named(points), x="top1", y="value", fontSize=11)
    chart: altair.LayerChart = layered(*layers, halo(names), names)
    return chart.properties(data=inline(points))


def _top(points: list[dict[str, Any]]) -> float:
    return min(100.0, max(point["highest"] for point in points) + 4)


def _named(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of a few models; of many, the best on the slice and overall, and those that took part in choosing it.

    A name that would cover an earlier one is left out.
    """
    extremes = [max(points, key=lambda point: point[key]) for key in ("value", "top1")]
    chosen = [point for point in points if point["group"] == _CHOSE]
    wide = max(point["top1"] for point in points) - min(point["top1"] for point in points)
    candidates = (*extremes, *chosen, *(points if len(points) <= _NAMED else ()))
    return apart(candidates, x="top1", y="value", wide=wide / 4, high=_top(points) / 25)


def _tooltip() -> list[altair.Tooltip]:
    return [
        altair.Tooltip("model:N"), altair.Tooltip("shown:N", title="right"),
        altair.Tooltip("right:Q", title="right images"), altair.Tooltip("images:Q"), altair.Tooltip("novel:Q"),
        altair.Tooltip("major:Q", title="major mistakes"), altair.Tooltip("open:Q", title="without severity"),
        altair.Tooltip("top1_shown:N", title="top-1"),
    ]  # fmt: skip
