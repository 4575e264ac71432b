"""The figure of a class-map study: the accuracy of each group under every map, and the classes with most errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, panel_heading
from regrade.display.style import COLORS, GRAY, SHAPES, WIDTH
from regrade.studies.class_map.findings import class_map_findings
from regrade.studies.class_map.result import ClassErrors, ClassMapAudit, MapRow

_CLASSES = 10  # classes with most errors
_WIDE = WIDTH - 190


def class_map_figure(result: ClassMapAudit) -> Figure:
    """Two panels for the best model: accuracies of the groups (or of all images) by map, and shares of errors."""
    model = result.maps[0].model
    rows, classes = result.of_model(model), [row for row in result.classes if row.model == model]
    name = f"class map of {result.test_set}"
    headline = next((finding.headline for finding in class_map_findings(result)), name)
    subtitle = f"{model} on {result.test_set}, top-{result.top}. Intervals hold for all groups or classes together."
    charts = [_by_map(result, rows), *([_by_class(classes)] if any(row.share_of_errors for row in classes) else [])]
    chart = altair.vconcat(*charts, spacing=30).properties(title=heading(headline, subtitle))
    chart = chart.resolve_scale(color="independent", shape="independent")
    return Figure(name, f"{headline}. Accuracies of {model} by class map, and its errors by class.", chart)


def _by_map(result: ClassMapAudit, rows: Sequence[MapRow]) -> altair.LayerChart:
    points = [
        {"map": row.map, "group": group, "shown": interval_text(estimate), **interval(estimate)}
        for row in rows
        for group, estimate in ([(each.group, each.accuracy) for each in row.groups] or [("all images", row.accuracy)])
    ]
    groups = list(dict.fromkeys(str(point["group"]) for point in points))
    y = altair.Y("map:N", sort=[row.map for row in rows], axis=name_axis(len(rows), labelLimit=170))
    base = altair.Chart(inline(points)).encode(
        y=y,
        tooltip=[
            altair.Tooltip("map:N"), altair.Tooltip("group:N", title=result.by or "images"),
            altair.Tooltip("shown:N", title="accuracy"),
        ],
    )  # fmt: skip
    offset = altair.YOffset("group:N", sort=groups)
    colored: dict[str, Any] = {}
    if len(groups) <= len(COLORS):
        colors = altair.Scale(domain=groups, range=list(COLORS[: len(groups)]))
        shapes = altair.Scale(domain=groups, range=list(SHAPES[: len(groups)]))
        legend = altair.Legend(title=result.by, orient="top", columns=4) if len(groups) > 1 else None
        colored["color"] = altair.Color("group:N", scale=colors, legend=legend)
        colored["shape"] = altair.Shape("group:N", scale=shapes)
    x: dict[str, Any] = {"scale": altair.Scale(zero=False), "axis": altair.Axis(title="accuracy, in %")}
    mark: dict[str, Any] = {} if colored else {"color": GRAY}
    chart = layered(
        base.mark_rule(strokeWidth=1.6, **mark).encode(
            x=altair.X("value_low:Q", **x), x2="value_high:Q", yOffset=offset,
            **{key: value for key, value in colored.items() if key == "color"},
        ),
        base.mark_point(**mark).encode(x=altair.X("value:Q", **x), yOffset=offset, **colored),
    )  # fmt: skip
    which = f"by {result.by} " if result.by else ""
    title = panel_heading(f"Accuracy {which}under every map", "On the images that count under that and the first map.")
    return chart.properties(width=_WIDE, height=max(34, 13 * len(groups) + 10) * len(rows), title=title)


def _by_class(classes: Sequence[ClassErrors]) -> altair.LayerChart:
    shown = [row for row in classes if row.share_of_errors is not None][:_CLASSES]
    data = [
        {
            "class": row.class_name,
            **interval(row.share_of_errors),
            "shown": interval_text(row.share_of_errors),
            "accuracy": interval_text(row.accuracy),
            "wrong": ", ".join(f"{name} {count}" for name, count in row.wrong),
        }
        for row in shown
        if row.share_of_errors is not None
    ]
    y = altair.Y("class:N", sort=[row.class_name for row in shown], axis=name_axis(len(shown), labelLimit=170))
    base = altair.Chart(inline(data)).encode(
        y=y,
        tooltip=[
            altair.Tooltip("class:N"), altair.Tooltip("shown:N", title="share of errors"),
            altair.Tooltip("accuracy:N"), altair.Tooltip("wrong:N", title="predicted instead"),
        ],
    )  # fmt: skip
    x: dict[str, Any] = {"scale": altair.Scale(zero=True), "axis": altair.Axis(title="share of all errors, in %")}
    chart = layered(
        base.mark_rule(strokeWidth=1.5, color=COLORS[0]).encode(x=altair.X("value_low:Q", **x), x2="value_high:Q"),
        base.mark_point(color=COLORS[0]).encode(x=altair.X("value:Q", **x)),
    )
    which = f", the {_CLASSES} of {len(classes)} with most errors" if len(classes) > _CLASSES else ""
    title = panel_heading(f"Errors by class under the first map{which}")
    return chart.properties(width=_WIDE, height=22 * len(shown), title=title)
