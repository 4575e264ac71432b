"""The figure of a geography study: accuracy by group, and disparity versus accuracy on the original test set."""

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
    name_axis,
    panel_heading,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, GRAY, INK, PALE, SHAPES, WIDTH
from regrade.display.wording import plain, points
from regrade.studies.geography.findings import group_phrase
from regrade.studies.geography.progress import Progress
from regrade.studies.geography.progress_figure import progress_panel
from regrade.studies.geography.result import Geography, ModelByGroup
from regrade.studies.lines import ModelLine
from regrade.studies.scoring import FEWEST_DRAWN

_NAMED = 5  # models with their own color; the others are gray
_GROUPS = 60  # the most groups that are readable
_FEW = 24  # the most groups with room for several models in each
_ROWS = 24  # the most models with a row of their own, if there is no original
_WIDE, _HEIGHT = WIDTH - 150, 300


def geography_figure(result: Geography) -> Figure:
    """Accuracies by group with intervals; disparity versus accuracy on the original, or by model; progress rates."""
    named = _named(result)
    with_gap = [row for row in result.rows if row.disparity]
    panels: list[altair.LayerChart] = [_groups(result, named)]
    if result.progress is not None:
        panels.append(_against_original(result, result.progress, named))
        panels.append(progress_panel(result.progress))
    elif len(with_gap) > 1:
        panels.append(_by_model(with_gap))
    title = heading(_title(result), _subtitle(result, named))
    chart = altair.vconcat(*panels, spacing=30).resolve_scale(color="independent", shape="independent")
    chart = chart.properties(title=title)
    return Figure(
        f"geography of {result.test_set} by {result.by}", f"{_title(result)}. {_subtitle(result, named)}", chart
    )


def _named(result: Geography) -> list[str]:
    """The models with names: the best, the worst, those with the largest and smallest disparity, and a middle one."""
    rows = result.rows
    if len(result.groups) > _FEW:
        return list(dict.fromkeys((rows[0].model, rows[-1].model)))
    if len(rows) <= _NAMED:
        return [row.model for row in rows]
    by_gap = sorted((row for row in rows if row.disparity), key=_gap)
    chosen = [rows[0], rows[-1], *by_gap[-1:], *by_gap[:1], rows[len(rows) // 2]]
    return [row.model for row in rows if row in chosen]


def _gap(row: ModelByGroup) -> float:
    return row.disparity.value.value if row.disparity else 0.0


def _title(result: Geography) -> str:
    best = result.rows[0]
    if best.disparity is None:
        return f"{best.model} is right on {100 * best.overall.value:.1f}% of {result.test_set}, by {result.by}"
    gap = best.disparity
    low, high = (f"{100 * end:.1f}" for end in (gap.value.low, gap.value.high))
    if gap.value.low <= 0:
        return f"No difference by {result.by} detected for {best.model}, the best on {result.test_set}"
    if not gap.settled:
        return (
            f"The accuracy of {best.model}, the best on {result.test_set}, differs by {result.by}, by {low} to {high} "
            "points"
        )
    return (
        f"The accuracy of {best.model}, the best on {result.test_set}, is {100 * gap.value.value:.1f} points ({low} to "
        f"{high}) lower {group_phrase(result, gap.worst)} than {group_phrase(result, gap.best)}"
    )


def _subtitle(result: Geography, named: Sequence[str]) -> str:
    images = amount(sum(group.images for group in result.groups), "image")
    clusters = f" over clusters by {result.clusters}" if result.clusters else ""
    unnamed = len(result.rows) - len(named)
    gray = f"; gray ticks: {amount(unnamed, 'other model')}" if unnamed > 0 else ""
    shown = f"; the {_GROUPS} largest of {len(result.groups)} groups" if len(result.groups) > _GROUPS else ""
    if small := sum(group.images < FEWEST_DRAWN for group in result.groups):
        shown += f"; {amount(small, 'group')} with fewer than {FEWEST_DRAWN} images not drawn"
    return (
        f"Top-{result.top} accuracy by {result.by}, {images}, with {100 * result.confidence:g}% intervals{clusters}"
        f"{gray}{shown}."
    )


def _order(result: Geography) -> list[int]:
    """Positions of the groups drawn: numeric bins in order, other groups by ascending accuracy of the best model."""
    by_size = sorted(range(len(result.groups)), key=lambda place: -result.groups[place].images)
    largest = [place for place in by_size[:_GROUPS] if result.groups[place].images >= FEWEST_DRAWN] or by_size[:1]
    best = [estimate.value if estimate else 1.0 for estimate in result.rows[0].groups]
    return sorted(largest) if result.edges else sorted(largest, key=lambda place: best[place])


def _groups(result: Geography, named: list[str]) -> altair.LayerChart:
    order = _order(result)
    labels = {place: f"{result.groups[place].name} ({result.groups[place].images:,})" for place in order}
    main, rest = _points(result, labels, named)
    axis, gaps = name_axis(len(labels), labelLimit=180), altair.Scale(paddingInner=0.25)
    y = altair.Y("group:N", sort=list(labels.values()), axis=axis, scale=gaps)
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("group:N", title=result.by),
        altair.Tooltip("shown:N", title="accuracy"), altair.Tooltip("images:Q", format=","),
    ]  # fmt: skip
    across = percent_axis(f"top-{result.top} accuracy", tickCount=6)
    x: dict[str, Any] = {"scale": altair.Scale(zero=False), "axis": across}
    legend = altair.Legend(title=None, orient="top", columns=3, symbolOpacity=1, labelLimit=170)
    color, shape = _color_and_shape(named, legend if len(named) > 1 else None)
    offset = altair.YOffset("model:N", sort=named, scale=altair.Scale(domain=named))
    ticks = altair.Chart(inline(rest)).encode(x=altair.X("value:Q", **x), y=y, tooltip=tooltip)
    front = altair.Chart(inline(main)).encode(y=y, yOffset=offset, color=color, tooltip=tooltip)
    layers = [
        *([ticks.mark_tick(color=PALE, thickness=1, opacity=1)] if rest else []),
        front.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q", **x), x2="value_high:Q"),
        front.mark_point(stroke="white", strokeWidth=0.5).encode(x=altair.X("value:Q", **x), shape=shape),
    ]
    step = max(18, 8 * len(named) + 6) if len(order) <= _FEW else 14
    return layered(*layers).properties(width=_WIDE, height=step * len(order))


def _points(result: Geography, labels: dict[int, str], named: list[str]) -> tuple[list[dict[str, Any]], ...]:
    """The points of the named models, and of all others."""
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    for row in result.rows:
        for place, label in labels.items():
            if accuracy := row.groups[place]:
                point = {"group": label, "model": row.model, "shown": interval_text(accuracy), "images": accuracy.n}
                sides[row.model not in named].append({**point, **interval(accuracy)})
    return sides


def _color_and_shape(named: list[str], legend: altair.Legend | None) -> tuple[altair.Color, altair.Shape]:
    """Color and shape of the named models, with one legend for both."""
    colors, shapes = (altair.Scale(domain=named, range=list(palette[: len(named)])) for palette in (COLORS, SHAPES))
    return (
        altair.Color("model:N", sort=named, scale=colors, legend=legend),
        altair.Shape("model:N", sort=named, scale=shapes, legend=legend),
    )


def _against_original(result: Geography, progress: Progress, named: list[str]) -> altair.LayerChart:
    line = progress.disparity
    rows = [
        {
            "model": row.model,
            "x": percent(row.original.value),
            **interval(row.disparity.value),
            "original_text": interval_text(row.original),
            "shown": interval_text(row.disparity.value),
            "chance": f"{100 * row.disparity.chance:.1f} points",
            "groups": f"{row.disparity.best} − {row.disparity.worst}",
        }
        for row in result.rows
        if row.original and row.disparity and row.model in progress.models
    ]
    x = altair.X("x:Q", scale=altair.Scale(zero=False), axis=percent_axis(f"top-1 accuracy on {progress.original}"))
    up: dict[str, Any] = {
        "scale": altair.Scale(zero=True),
        "axis": altair.Axis(title="disparity, in points", tickCount=6),
    }
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("original_text:N", title=f"on {progress.original}"),
        altair.Tooltip("shown:N", title="disparity"), altair.Tooltip("chance:N", title="by chance, at most"),
        altair.Tooltip("groups:N", title="between"),
    ]  # fmt: skip
    color, shape = _color_and_shape(named, None)
    main, rest = ([row for row in rows if (row["model"] in named) is is_named] for is_named in (True, False))
    low, value = altair.Y("value_low:Q", **up), altair.Y("value:Q", **up)
    back, front = (altair.Chart(inline(chosen)).encode(x=x, tooltip=tooltip) for chosen in (rest, main))
    layers = [
        *_band(line, x, up),
        back.mark_rule(strokeWidth=1, color=PALE).encode(y=low, y2="value_high:Q"),
        back.mark_point(color=GRAY, size=26, opacity=0.8).encode(y=value),
        front.mark_rule(strokeWidth=1.6).encode(y=low, y2="value_high:Q", color=color),
        front.mark_point(stroke="white", strokeWidth=0.5, size=70).encode(y=value, color=color, shape=shape),
        *_names(_spaced(main, rows), rising=line.slope.value >= 0),
    ]
    best, worst = progress.extremes
    description = (
        f"Solid: least squares over {len(progress.models)} models with its band, R² {line.r_squared:.2f}. One more "
        f"point on {progress.original} goes with a difference between {best} and {worst} that is "
        f"{plain(progress.apart)} points larger."
    )
    title = panel_heading("Disparity: accuracy in a model's best group minus its worst", description)
    return layered(*layers).properties(width=_WIDE, height=_HEIGHT, title=title)


def _band(line: ModelLine, x: altair.X, up: dict[str, Any]) -> list[altair.Chart]:
    if line.band is None:
        return []
    parts = zip(line.band.x, line.band.line, line.band.low, line.band.high, strict=True)
    rows = [dict(zip(("x", "y", "low", "high"), map(percent, part), strict=True)) for part in parts]
    ribbon = altair.Chart(inline(rows))
    return [
        ribbon.mark_area(color=GRAY, opacity=0.15, clip=True).encode(x=x, y=altair.Y("low:Q", **up), y2="high:Q"),
        ribbon.mark_line(color=INK, strokeWidth=1.4, clip=True).encode(x=x, y=altair.Y("y:Q", **up)),
    ]


def _spaced(named: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points whose names have room among all points."""
    wide = max(row["x"] for row in rows) - min(row["x"] for row in rows)
    return apart(named, x="x", y="value", wide=wide / 4, high=max(row["value_high"] for row in rows) / 18)


def _names(rows: list[dict[str, Any]], *, rising: bool) -> list[altair.Chart]:
    """Names next to the points, towards the middle and on the side away from the line."""
    if not rows:
        return []
    middle = (min(row["x"] for row in rows) + max(row["x"] for row in rows)) / 2
    left_half = [row for row in rows if row["x"] <= middle]
    right_half = [row for row in rows if row["x"] > middle]
    down = 11 if rising else -11
    names = [
        *([direct_labels(left_half, x="x", y="value", align="left", dx=7, dy=down)] if left_half else []),
        *([direct_labels(right_half, x="x", y="value", align="right", dx=-7, dy=-down)] if right_half else []),
    ]
    return [*map(halo, names), *names]


def _by_model(rows: Sequence[ModelByGroup]) -> altair.LayerChart:
    shown = rows[:_ROWS]
    data = [
        {
            "model": row.model,
            **interval(row.disparity.value),
            "shown": points(row.disparity.value),
            "chance": percent(row.disparity.chance),
            "groups": f"{row.disparity.best} − {row.disparity.worst}",
        }
        for row in shown
        if row.disparity
    ]
    y = altair.Y("model:N", sort=[row.model for row in shown], axis=name_axis(len(shown), labelLimit=150))
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("shown:N", title="disparity"),
        altair.Tooltip("chance:Q", title="by chance at most, points"), altair.Tooltip("groups:N", title="between"),
    ]  # fmt: skip
    x: dict[str, Any] = {"scale": altair.Scale(zero=True), "axis": altair.Axis(title="disparity, in points")}
    base = altair.Chart(inline(data)).encode(y=y, tooltip=tooltip)
    chart = layered(
        base.mark_rule(strokeWidth=1.5, color=COLORS[0]).encode(x=altair.X("value_low:Q", **x), x2="value_high:Q"),
        base.mark_point(color=COLORS[0]).encode(x=altair.X("value:Q", **x)),
        base.mark_tick(color=INK, thickness=1.5).encode(x=altair.X("chance:Q", **x)),
    )
    which = f", the best {_ROWS} of {len(rows)}" if len(rows) > _ROWS else ""
    description = f"Models, best first{which}. Upright ticks: disparity expected by chance if all groups were equal."
    return chart.properties(
        width=_WIDE, height=22 * len(shown), title=panel_heading("Disparity: best group minus worst", description)
    )
