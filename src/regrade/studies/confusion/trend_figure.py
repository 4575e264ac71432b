"""The figure of trends: how closely the confusion score goes with errors, by accuracy and attributes of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import inline, layered, panel_heading
from regrade.display.style import GRAY, INK, WIDTH
from regrade.studies.confusion.figure_parts import numbers, titled_figure
from regrade.studies.confusion.findings import trend_findings
from regrade.studies.confusion.result import Confusion
from regrade.studies.confusion.trends import ACCURACY, ScoreRelation, ScoreTrend, TrendModel
from regrade.studies.models.figure import OTHER, colored_families, family_marks
from regrade.studies.models.result import TrendVerdict

_HEIGHT = 200
_LINE = 30  # points of a line


def trend_figure(result: Confusion) -> Figure | None:
    """A panel for each attribute: the biserial correlation of every model, with the trend."""
    shown = _slopes(result)
    if not shown:
        return None
    findings = trend_findings(result)
    title = findings[0].headline if findings else "How closely does the confusion score go with errors?"
    subtitle = (
        "Biserial correlation of score and error of each model over images. Shaded: slopes of the interval, which "
        "holds for all trends together. Associations over these models, not effects"
    )
    panels = [
        trend_panel(result, row, width=WIDTH - 20).properties(title=panel_heading(*trend_heading(row))) for row in shown
    ]
    return titled_figure(result, title, subtitle, altair.vconcat(*panels, spacing=26).resolve_scale(color="shared"))


def accuracy_trend(result: Confusion) -> ScoreTrend | None:
    """The trend of the biserial correlation with accuracy; None if there is none."""
    return next((row for row in _slopes(result) if row.attribute == ACCURACY), None)


def trend_heading(row: ScoreTrend) -> tuple[str, str]:
    """The heading of a panel and its description."""
    verdict = "; no trend detected" if row.verdict is TrendVerdict.NOT_DETECTED else ""
    change = f"Change per {row.per}: {numbers(row.effect, 3)}, over {amount(row.models, 'model')}{verdict}"
    return f"Correlation of score and errors by {row.attribute}", change


def trend_panel(result: Confusion, row: ScoreTrend, *, width: int, **legend: Any) -> altair.LayerChart:
    """The biserial correlation of every model by an attribute, with the slope and its interval."""
    models = [model for model in (result.trends.models if result.trends else ()) if model.value_of(row.attribute)]
    families = colored_families(model.family for model in models)
    points = [_point(model, row, families) for model in models]
    x = altair.X("x:Q", scale=_scale(row), axis=_axis(row))
    y: dict[str, Any] = {
        "scale": altair.Scale(domain=_ends(models), nice=False, zero=False),
        "axis": altair.Axis(title="biserial correlation", tickCount=5, format=".2f"),
    }
    fan = altair.Chart(inline(_fan(row, models))).encode(x=x)
    color, shape = family_marks(families, points, **legend)
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("family_text:N", title="family"),
        altair.Tooltip("x:Q", title=row.attribute, format="," if row.is_per_tenfold else "~f"),
        altair.Tooltip("y:Q", title="biserial correlation", format=".3f"),
    ]  # fmt: skip
    return layered(
        fan.mark_area(color=GRAY, opacity=0.15, clip=True).encode(y=altair.Y("low:Q", **y), y2="high:Q"),
        fan.mark_line(color=INK, strokeWidth=1.4, clip=True).encode(y=altair.Y("y:Q", **y)),
        altair.Chart(inline(points))
        .mark_point(stroke="white", strokeWidth=0.5, size=60)
        .encode(x=x, y=altair.Y("y:Q", **y), color=color, shape=shape, tooltip=tooltip),
    ).properties(width=width, height=_HEIGHT)


def _slopes(result: Confusion) -> list[ScoreTrend]:
    rows = result.trends.rows if result.trends else ()
    return [row for row in rows if row.relation is ScoreRelation.BISERIAL and row.family is None]


def _scale(row: ScoreTrend) -> altair.Scale:
    if row.is_per_tenfold:
        return altair.Scale(type="log", nice=False, padding=12)
    return altair.Scale(zero=False, nice=False, padding=12)


def _axis(row: ScoreTrend) -> altair.Axis:
    title = f"{row.attribute} (logarithmic)" if row.is_per_tenfold else row.attribute
    title = f"{ACCURACY}, in %" if row.attribute == ACCURACY else title
    return altair.Axis(title=title, format="~s" if row.is_per_tenfold else "d", tickMinStep=1, tickCount=6, grid=False)


def _place(model: TrendModel, row: ScoreTrend) -> float:
    """The place of a model on the axis; accuracies are in percent."""
    number = float(model.value_of(row.attribute) or 0)
    return round(100 * number, 3) if row.attribute == ACCURACY else number


def _point(model: TrendModel, row: ScoreTrend, families: Sequence[str]) -> dict[str, Any]:
    return {
        "model": model.model,
        "family": model.family if model.family in families else OTHER,
        "family_text": model.family or "not stated",
        "x": _place(model, row),
        "y": round(model.biserial, 4),
    }


def _ends(models: Sequence[TrendModel]) -> list[float]:
    values = [model.biserial for model in models]
    margin = 0.06 * (max(values) - min(values)) + 0.01
    return [min(values) - margin, max(values) + margin]


def _fan(row: ScoreTrend, models: Sequence[TrendModel]) -> list[dict[str, float]]:
    """The line through the mean of the models with the slope, and with the bounds of its interval."""
    on_axis = np.array([_place(model, row) for model in models])
    places = np.log10(on_axis) if row.is_per_tenfold else on_axis
    unit = 10.0 if row.attribute == ACCURACY else 1.0
    center, level = float(places.mean()), float(np.mean([model.biserial for model in models]))
    rows = []
    for place in np.linspace(places.min(), places.max(), _LINE):
        moved = (place - center) / unit
        ends = sorted(level + bound * moved for bound in (row.effect.low, row.effect.high))
        x = float(10**place) if row.is_per_tenfold else float(place)
        rows.append({"x": x, "y": level + row.effect.value * moved, "low": ends[0], "high": ends[1]})
    return rows
