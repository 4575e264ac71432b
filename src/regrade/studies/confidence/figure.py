"""The figure of a study of confidence: reliability curves, risk-coverage curves, and the coverage of conformal sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, panel_heading, percent
from regrade.display.style import COLORS, GRAY, INK, SHAPES, SMALL, TEXT, WIDTH
from regrade.studies.confidence.findings import calibration_finding
from regrade.studies.confidence.result import Confidence, ModelConfidence

_MODELS = 6  # the most models that are drawn
_COLUMNS = 3
_SIDE = 150  # pixels: of one reliability curve
_LONG_NAME = 20  # letters
_PANEL = 250  # pixels: of a risk-coverage panel


def confidence_figure(result: Confidence) -> Figure:
    """Three parts: accuracy by confidence with simultaneous bands, error rate by coverage, coverage of sets."""
    models = list(dict.fromkeys(row.model for row in result.rows))
    drawn = [row for row in result.rows if row.model in models[:_MODELS]]
    sets = [result.test_set, *result.new]
    parts = [_reliability(drawn, sets), _risk_coverage(drawn, sets)]
    if any(row.sets for row in drawn):
        parts.append(_conformal(result, drawn, sets))
    title = calibration_finding([row for row in result.rows if not row.shifted]).headline
    shown = f"; the {_MODELS} most accurate of {len(models):,} models" if len(models) > _MODELS else ""
    subtitle = f"{amount(len(models), 'model')} on {', '.join(sets)}{shown}"
    chart = altair.vconcat(*parts, spacing=34).resolve_scale(color="independent", shape="independent")
    alt = f"{title}. Reliability curves, error rates by coverage and conformal coverage: {subtitle}."
    name = f"confidence on {', '.join(sets)}"
    return Figure(name, alt, chart.properties(title=heading(title, subtitle)))


def _reliability(rows: Sequence[ModelConfidence], sets: Sequence[str]) -> altair.FacetChart:
    """One panel per model, with the accuracy in each bin of every test set."""
    points: list[dict[str, Any]] = [
        {
            "model": row.model, "set": row.test_set, "confidence": percent(point.mean_confidence),
            **interval(point.accuracy, "accuracy"), "shown": interval_text(point.accuracy), "images": point.accuracy.n,
        }
        for row in rows
        for point in row.bins
    ]  # fmt: skip
    low = 10 * (min(point["confidence"] for point in points) // 10)
    bottom = 10 * (min([low, *(point["accuracy_low"] for point in points)]) // 10)
    across: dict[str, Any] = {
        "axis": altair.Axis(title="confidence, in %", tickCount=4, grid=True),
        "scale": altair.Scale(domain=[low, 100], nice=False),
    }
    up: dict[str, Any] = {
        "axis": altair.Axis(title=None, tickCount=5, grid=True),
        "scale": altair.Scale(domain=[bottom, 100], nice=False),
    }
    x, y = altair.X("confidence:Q", **across), altair.Y("accuracy:Q", **up)
    base = altair.Chart().encode(x=x, color=_color(sets), tooltip=_tooltip())
    start, end = max(low, bottom), altair.datum(100)
    diagonal = altair.Chart().mark_rule(color=GRAY, strokeDash=[4, 3], strokeWidth=1)
    diagonal = diagonal.encode(x=altair.XDatum(start, **across), y=altair.YDatum(start, **up), x2=end, y2=end)
    bands = base.mark_rule(strokeWidth=1.5).encode(y=altair.Y("accuracy_low:Q"), y2="accuracy_high:Q")
    lines = base.mark_line(strokeWidth=1.2).encode(y=y)
    dots = base.mark_point(size=26).encode(y=y, shape=_shape(sets))
    models = list(dict.fromkeys(row.model for row in rows))
    side = _SIDE if len(models) > 1 else 2 * _SIDE
    panel = layered(diagonal, lines, bands, dots).properties(width=side, height=side)
    size = TEXT if max(map(len, models)) <= _LONG_NAME else SMALL
    header = altair.Header(labelAnchor="start", labelLimit=side + 15, labelFontSize=size)
    facet = altair.Facet("model:N", sort=models, title=None, header=header)
    columns = min(_COLUMNS, len(models))
    title = panel_heading(
        "Accuracy by confidence, in %",
        "Bins of equally many images; the intervals of a curve hold together (Bonferroni). A "
        "calibrated model lies on the dashed line.",
    )
    return panel.facet(facet, columns=columns, data=inline(points), spacing=18).properties(title=title)


def _color(sets: Sequence[str]) -> altair.Color:
    legend = None if len(sets) == 1 else altair.Legend(title=None, orient="top", symbolOpacity=1)
    return altair.Color("set:N", sort=list(sets), scale=_scale(sets, COLORS), legend=legend)


def _shape(sets: Sequence[str]) -> altair.Shape:
    legend = None if len(sets) == 1 else altair.Legend(title=None, orient="top")
    return altair.Shape("set:N", sort=list(sets), scale=_scale(sets, SHAPES), legend=legend)


def _scale(names: Sequence[str], values: Sequence[str]) -> altair.Scale:
    return altair.Scale(domain=list(names), range=[values[place % len(values)] for place in range(len(names))])


def _tooltip() -> list[altair.Tooltip]:
    return [
        altair.Tooltip("model:N"), altair.Tooltip("set:N", title="test set"),
        altair.Tooltip("confidence:Q", title="mean confidence"), altair.Tooltip("shown:N", title="accuracy"),
        altair.Tooltip("images:Q", format=","),
    ]  # fmt: skip


def _risk_coverage(rows: Sequence[ModelConfidence], sets: Sequence[str]) -> altair.FacetChart:
    """One panel per test set with the curves of all models."""
    points = [
        {"model": row.model, "set": row.test_set, "coverage": percent(coverage), "risk": percent(risk)}
        for row in rows
        for coverage, risk in zip(row.coverages, row.risks, strict=True)
    ]
    models = list(dict.fromkeys(row.model for row in rows))
    color = altair.Color(
        "model:N",
        sort=models,
        scale=_scale(models, COLORS),
        legend=altair.Legend(title=None, columns=3, symbolOpacity=1),
    )
    lines = (
        altair.Chart()
        .mark_line(strokeWidth=1.8)
        .encode(
            x=altair.X("coverage:Q", axis=altair.Axis(title="coverage: most confident predictions, in %", tickCount=5)),
            y=altair.Y("risk:Q", axis=altair.Axis(title=None, tickCount=5)),
            color=color,
            tooltip=[
                altair.Tooltip("model:N"),
                altair.Tooltip("coverage:Q"),
                altair.Tooltip("risk:Q", title="error rate"),
            ],
        )
        .properties(width=_PANEL if len(sets) > 1 else 2 * _PANEL, height=180)
    )
    facet = altair.Facet("set:N", sort=list(sets), title=None, header=altair.Header(labelAnchor="start"))
    title = panel_heading(
        "Error rate of the most confident predictions, in %",
        "Low on the left: errors have low confidence. The left end rests on few predictions.",
    )
    return lines.facet(facet, columns=2, data=inline(points), spacing=24).properties(title=title)


def _conformal(result: Confidence, rows: Sequence[ModelConfidence], sets: Sequence[str]) -> altair.FacetChart:
    """One panel per score: the coverage of the sets of each model on each test set."""
    promised = percent(1 - result.miss)
    points = [
        {
            "model": row.model, "set": row.test_set, "score": part.score.value, "promised": promised,
            **interval(part.coverage), "shown": interval_text(part.coverage), "size": round(part.mean_size.value, 2),
        }
        for row in rows
        for part in row.sets
    ]  # fmt: skip
    models = list(dict.fromkeys(row.model for row in rows))
    scores = list(dict.fromkeys(part.score.value for row in rows for part in row.sets))
    y = altair.Y("model:N", sort=models, axis=name_axis(len(models)))
    offset = altair.YOffset("set:N", sort=list(sets))
    base = altair.Chart().encode(
        y=y,
        yOffset=offset,
        color=_color(sets),
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("set:N", title="test set"),
            altair.Tooltip("shown:N", title="coverage"), altair.Tooltip("size:Q", title="mean size"),
        ],
    )  # fmt: skip
    rule = altair.Chart().mark_rule(color=INK, strokeDash=[4, 3]).encode(x=altair.X("promised:Q"))
    x = altair.X(
        "value:Q", scale=altair.Scale(zero=False), axis=altair.Axis(title="labels in the set, in %", tickCount=5)
    )
    ranges = base.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q"), x2="value_high:Q")
    dots = base.mark_point(size=32).encode(x=x, shape=_shape(sets))
    height = len(models) * max(14 * len(sets), 20)
    panel = layered(rule, ranges, dots).properties(width=(WIDTH - 130) // len(scores), height=height)
    facet = altair.Facet("score:N", sort=scores, title=None, header=altair.Header(labelAnchor="start"))
    title = panel_heading(
        f"Coverage of conformal sets of {promised:g}%",
        f"Calibrated on {result.test_set} (on one half for the other); the dashed line is what they promise.",
    )
    return panel.facet(facet, columns=len(scores), data=inline(points), spacing=18).properties(title=title)
