"""The figure of a study of models: each measure versus each numeric attribute, and the differences of families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

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
    panel_heading,
    percent,
)
from regrade.display.style import COLORS, GRAY, INK, SHAPES, WIDTH
from regrade.display.wording import points
from regrade.studies.models.findings import model_trends_findings
from regrade.studies.models.result import (
    DescribedModel,
    FamilyVerdict,
    ModelAttribute,
    ModelMeasure,
    ModelTrend,
    ModelTrends,
    TrendVerdict,
)

_WIDE, _HEIGHT = WIDTH - 20, 220
_COLORED = len(COLORS) - 1  # families with a color of their own, the largest ones
OTHER = "other"
"""The name of the families without a color, in the field ``family`` of the rows of a figure."""

_ENDS = 40  # points of the lines
_DRAWN = (ModelMeasure.ACCURACY, ModelMeasure.ROBUSTNESS, ModelMeasure.DISPARITY)
_TITLES = {
    ModelAttribute.YEAR: "year",
    ModelAttribute.PARAMETERS: "parameters (logarithmic)",
    ModelAttribute.TRAINING_IMAGES: "training images (logarithmic)",
}


def model_trends_figure(result: ModelTrends) -> Figure:
    """A panel for each trend with the models, their family by color, and the line; below, the families."""
    names = colored_families(model.family for model in result.models)
    drawn = [trend for trend in result.trends if trend.measure in _DRAWN and _points(result, trend)]
    panels = [_trend(result, trend, names) for trend in drawn]
    panels += [_family_panel(result, measure) for measure in dict.fromkeys(row.measure for row in result.families)]
    headline = next(
        (finding.headline for finding in model_trends_findings(result)), f"Models on {result.test_set}"
    )  # fmt: skip
    subtitle = (
        f"{len(result.models)} models. Shaded: slopes of the interval, which holds for all trends together. "
        "Associations over these models, not effects."
    )
    chart = altair.vconcat(*panels, spacing=26).resolve_scale(color="shared")
    chart = chart.properties(title=heading(headline, subtitle))
    return Figure(f"attributes of models and accuracy on {result.test_set}", f"{headline}. {subtitle}", chart)


def colored_families(families: Iterable[str]) -> list[str]:
    """The families with a color, the largest first; the others are gray."""
    sizes = Counter(filter(None, families))
    return sorted(sizes, key=lambda name: (-sizes[name], name))[:_COLORED]


def _trend(result: ModelTrends, trend: ModelTrend, families: Sequence[str]) -> altair.LayerChart:
    models = _points(result, trend)
    rows = [_point(model, trend, families) for model in models]
    x = altair.X("x:Q", scale=_scale(trend.attribute), axis=_axis(trend.attribute))
    up: dict[str, Any] = {
        "scale": altair.Scale(domain=_ends(rows), nice=False, zero=False),
        "axis": altair.Axis(title=_measure_title(result, trend), tickCount=5),
    }
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("family_text:N", title="family"),
        altair.Tooltip("x:Q", title=trend.attribute.value, format="," if trend.attribute.is_count else "d"),
        altair.Tooltip("shown:N", title=trend.measure.value),
    ]  # fmt: skip
    fan = altair.Chart(inline(_fan(trend, models))).encode(x=x)
    base = altair.Chart(inline(rows)).encode(x=x, tooltip=tooltip)
    color, shape = family_marks(families, rows)
    layers = [
        fan.mark_area(color=GRAY, opacity=0.15, clip=True).encode(y=altair.Y("low:Q", **up), y2="high:Q"),
        fan.mark_line(color=INK, strokeWidth=1.4, clip=True).encode(y=altair.Y("y:Q", **up)),
        base.mark_rule(strokeWidth=1).encode(y=altair.Y("value_low:Q", **up), y2="value_high:Q", color=color),
        base.mark_point(stroke="white", strokeWidth=0.5, size=60).encode(
            y=altair.Y("value:Q", **up), color=color, shape=shape
        ),
    ]
    title = f"{trend.measure.value.capitalize()} and {trend.attribute.value.replace('-', ' ')}"
    return layered(*layers).properties(width=_WIDE, height=_HEIGHT, title=panel_heading(title, _description(trend)))


def _points(result: ModelTrends, trend: ModelTrend) -> list[DescribedModel]:
    """The models with the attribute and an estimate of the measure."""
    return [model for model in result.models if trend.attribute.of(model) and model.measured(trend.measure)]


def _description(trend: ModelTrend) -> str:
    """The slope in words."""
    unit = f"A {trend.attribute.unit}" if trend.attribute.is_count else "One more year"
    at_equal = " at equal accuracy on the original" if trend.measure is ModelMeasure.ROBUSTNESS else ""
    verdict = "; no trend detected" if trend.verdict is TrendVerdict.NOT_DETECTED else ""
    return f"{unit} goes with {points(trend.slope)}{at_equal}{verdict}"


def family_marks(
    families: Sequence[str],
    rows: Sequence[dict[str, Any]],
    *,
    orient: Literal["top", "bottom"] = "top",
    columns: int = 5,
) -> tuple[Any, Any]:
    """Color and shape of the families, with one legend for both; without families, one of each."""
    if not families:
        return altair.value(COLORS[0]), altair.value("circle")
    unnamed = [OTHER] if any(row["family"] == OTHER for row in rows) else []
    names = [*families, *unnamed]
    colors, shapes = (
        altair.Scale(domain=names, range=[*palette[: len(families)], last][: len(names)])
        for palette, last in ((COLORS, GRAY), (SHAPES, "circle"))
    )
    legend = altair.Legend(title=None, orient=orient, columns=columns, symbolOpacity=1)
    return (
        altair.Color("family:N", sort=names, scale=colors, legend=legend),
        altair.Shape("family:N", sort=names, scale=shapes, legend=legend),
    )


def _ends(rows: Sequence[dict[str, Any]]) -> list[float]:
    """The range of the vertical axis: all intervals of models; lines may leave it."""
    low, high = min(row["value_low"] for row in rows), max(row["value_high"] for row in rows)
    margin = 0.04 * (high - low)
    return [low - margin, high + margin]


def _measure_title(result: ModelTrends, trend: ModelTrend) -> str:
    if trend.measure is ModelMeasure.DISPARITY:
        return f"disparity by {result.by}, in points"
    if trend.measure is ModelMeasure.ROBUSTNESS:
        return f"effective robustness on {result.test_set}, in points"
    return f"accuracy on {result.test_set}, in %"


def _scale(attribute: ModelAttribute) -> altair.Scale:
    if attribute.is_count:
        return altair.Scale(type="log", nice=False, padding=12)
    return altair.Scale(zero=False, nice=False, padding=12)


def _axis(attribute: ModelAttribute) -> altair.Axis:
    form = "~s" if attribute.is_count else "d"
    return altair.Axis(title=_TITLES[attribute], format=form, tickMinStep=1, tickCount=6, grid=False)


def _point(model: DescribedModel, trend: ModelTrend, families: Sequence[str]) -> dict[str, Any]:
    measured = model.measured(trend.measure)
    assert measured is not None
    return {
        "model": model.model,
        "family": model.family if model.family in families else OTHER,
        "family_text": model.family or "not stated",
        "x": trend.attribute.of(model),
        "shown": interval_text(measured),
        **interval(measured),
    }


def _fan(trend: ModelTrend, models: Sequence[DescribedModel]) -> list[dict[str, float]]:
    """Lines through the mean of the models with the slope and with the bounds of its interval."""
    if trend.measure is ModelMeasure.ROBUSTNESS:
        return []  # the slope is at equal accuracy on the original, which differs along the axis
    numbers = np.array([trend.attribute.of(model) for model in models], dtype=np.float64)
    places = np.log10(numbers) if trend.attribute.is_count else numbers
    values = [measured.value for model in models if (measured := model.measured(trend.measure))]
    center, level = float(places.mean()), float(np.mean(values))
    rows = []
    for place in np.linspace(places.min(), places.max(), _ENDS):
        ends = sorted(level + bound * (place - center) for bound in (trend.slope.low, trend.slope.high))
        rows.append(
            {
                "x": float(10**place if trend.attribute.is_count else place),
                "y": percent(level + trend.slope.value * (place - center)),
                "low": percent(ends[0]),
                "high": percent(ends[1]),
            }
        )
    return rows


def _family_panel(result: ModelTrends, measure: ModelMeasure) -> altair.LayerChart:
    shown = [row for row in result.families if row.measure is measure]
    rows = [
        {
            "family": f"{row.family} ({row.models})",
            "shown": points(row.difference),
            "differs": row.verdict is not FamilyVerdict.NOT_DETECTED,
            **interval(row.difference),
        }
        for row in shown
    ]
    names = [str(row["family"]) for row in rows]
    y = altair.Y("family:N", sort=names, axis=name_axis(len(names), labelLimit=160))
    tooltip = [altair.Tooltip("family:N"), altair.Tooltip("shown:N", title="minus the others")]
    color = altair.condition("datum.differs", altair.value(COLORS[0]), altair.value(GRAY))
    x: dict[str, Any] = {"axis": altair.Axis(title="difference from the other models, in points", tickCount=6)}
    base = altair.Chart(inline(rows)).encode(y=y, color=color, tooltip=tooltip)
    zero = altair.Chart(inline([{"zero": 0}])).mark_rule(color=INK, strokeWidth=1)
    chart = layered(
        zero.encode(x=altair.X("zero:Q", **x)),
        base.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q", **x), x2="value_high:Q"),
        base.mark_point().encode(x=altair.X("value:Q", **x)),
    )
    at_equal = "At equal accuracy on the original. " if measure is ModelMeasure.ROBUSTNESS else ""
    description = f"{at_equal}Intervals hold for all families together; gray: no difference detected."
    title = panel_heading(f"Families: {measure.value}", description)
    return chart.properties(width=WIDTH - 150, height=name_step(len(names)) * len(names), title=title)
