"""The figure of a similarity study: error consistency of all pairs, and dominance compared with independence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import (
    direct_labels,
    halo,
    heading,
    inline,
    interval_text,
    layered,
    panel_heading,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, FAINT, GRAY, INK, SEQUENTIAL, SMALL, TEXT, WHITE_TEXT
from regrade.studies.similarity.findings import shared_errors
from regrade.studies.similarity.result import Similarity, SimilarPair

_SIDE = 400  # pixels: the width of both panels
_NUMBERED = 12  # the most models with room for a number in each cell
_NAMED = 80  # the most models with room for each name
_CELLS = 120  # the most rows of the matrix; with more models, neighbors share a cell
_POINTS = 4_000  # the most pairs drawn as points


def similarity_figure(result: Similarity) -> Figure:
    """All pairs as a matrix ordered by clustering; below, their dominance versus that of independent models."""
    models, pairs = len(result.models), len(result.pairs)
    title = _title(result)
    chart = altair.vconcat(_matrix(result), _dominance(result), spacing=36).resolve_scale(color="independent")
    chart = chart.properties(title=heading(title, *_subtitle(result)))
    content = f"Error consistency of all pairs ({pairs:,}) of {models} models on {result.basis.title}"
    alt = f"{title}. {content}. {_dominated(result)}."
    return Figure(f"similarity of {models} models on {result.basis.test_set}", alt, chart)


def _title(result: Similarity) -> str:
    if len(result.models) == 2:
        (pair,) = result.pairs
        return f"{pair.first} and {pair.second}: do they err on the same images?"
    shared, pairs = shared_errors(result), len(result.pairs)
    which = f"All {pairs:,}" if shared == pairs else f"{shared:,} of {pairs:,}"
    return f"{which} pairs of models share errors more often than independent models would"


def _subtitle(result: Similarity) -> tuple[str, ...]:
    n = result.basis.images
    averaged = "" if len(result.models) <= _CELLS else "; a cell is the mean of neighboring models"
    reach = np.nanmax((result.kappa.high - result.kappa.low) / 2, initial=0.0)
    return (
        f"Error consistency (Cohen's kappa of correctness) of all pairs, on {amount(n, 'image')} of "
        f"{result.basis.title}{averaged}. 0: independent errors, 1: errors on the same images. Frames: clusters with a "
        f"mean kappa of at least {result.alike:g}. {100 * result.basis.confidence:g}% intervals have a half-width of "
        f"at most {reach:.1g}.",
    )


def _matrix(result: Similarity) -> altair.LayerChart:
    names, cells = _cells(result)
    side = len(names)
    height = min(max(_SIDE / side, 10 if side <= _NAMED else 5), 40) * side
    kappas = [cell["kappa"] for cell in cells if cell["kappa"] is not None and cell["row"] != cell["column"]]
    low, high = _rounded(min(kappas, default=0.0), max(kappas, default=1.0))
    color = altair.Color(
        "kappa:Q",
        scale=altair.Scale(scheme=SEQUENTIAL, domain=[low, high], clamp=True),
        legend=altair.Legend(title="error consistency (kappa)", gradientLength=200, titleLimit=300),
    )
    across: dict[str, Any] = {
        "axis": _places(names, shown=side <= _NUMBERED, angle=-40),
        "scale": altair.Scale(domain=[0, side]),
    }
    down: dict[str, Any] = {
        "axis": _places(names, shown=side <= _NAMED),
        "scale": altair.Scale(domain=[0, side], reverse=True),
    }
    base = altair.Chart().encode(tooltip=_tooltip())
    rect = base.mark_rect(stroke="white", strokeWidth=0.5 if side <= 40 else 0).encode(
        x=altair.X("column:Q", **across),
        y=altair.Y("row:Q", **down),
        x2="column_end:Q",
        y2="row_end:Q",
        color=altair.condition("datum.kappa === null || datum.row === datum.column", altair.value(FAINT), color),
    )
    frames = _frames(result, side).encode(x=altair.X("low:Q", **across), y=altair.Y("low:Q", **down))
    numbers = [
        layer.encode(x=altair.X("x:Q", **across), y=altair.Y("y:Q", **down))
        for layer in _numbers(base, low + WHITE_TEXT * (high - low), side)
    ]
    width = min(height, side * (_SIDE // side))
    return layered(rect, *numbers, frames).properties(data=inline(cells), width=width, height=height)


def _tooltip() -> list[altair.Tooltip]:
    return [
        altair.Tooltip("first:N"),
        altair.Tooltip("second:N"),
        altair.Tooltip("shown:N", title="error consistency"),
        altair.Tooltip("agreement:N", title="same class"),
    ]


def _cells(result: Similarity) -> tuple[Sequence[str], list[dict[str, Any]]]:
    """The names of the rows and the cells, which are means of blocks of neighbors if there are too many models."""
    models = result.models
    edges = np.unique(np.linspace(0, len(models), min(len(models), _CELLS) + 1).astype(int))
    names = [_span(models[a:b]) for a, b in pairwise(edges)]
    kappa, low, high = (_blocks(part, edges) for part in (result.kappa.value, result.kappa.low, result.kappa.high))
    same = _blocks(result.agreement.value, edges)
    single = len(names) == len(models)
    cells = [
        {
            "row": i, "row_end": i + 1, "column": j, "column_end": j + 1, "first": names[i], "second": names[j],
            "kappa": None if np.isnan(kappa[i, j]) else round(float(kappa[i, j]), 3),
            "shown": _kappa_text(kappa[i, j], low[i, j], high[i, j], single=single),
            "agreement": "–" if np.isnan(same[i, j]) else f"{100 * same[i, j]:.1f}%",
        }
        for i in range(len(names))
        for j in range(len(names))
    ]  # fmt: skip
    return names, cells


def _blocks(values: FloatArray, edges: np.ndarray) -> FloatArray:
    """Means over blocks of rows and columns, ignoring undefined values."""
    defined = ~np.isnan(values)
    sums, counts = (
        np.add.reduceat(np.add.reduceat(part, edges[:-1], axis=0), edges[:-1], axis=1)
        for part in (np.where(defined, values, 0.0), defined.astype(np.float64))
    )
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _kappa_text(value: float, low: float, high: float, *, single: bool) -> str:
    if np.isnan(value):
        return "undefined: both always right, or always wrong"
    return f"{value:.2f} [{low:.2f}, {high:.2f}]" if single else f"{value:.2f} on average"


def _places(names: Sequence[str], *, shown: bool, angle: int = 0) -> altair.Axis:
    """An axis with names at the centers of their cells."""
    if not shown:
        return altair.Axis(title=None, labels=False, ticks=False, grid=False, domain=False)
    listed = "[" + ",".join(f"'{_escaped(name)}'" for name in names) + "]"
    return altair.Axis(
        title=None, grid=False, ticks=False, domain=False, labelOverlap=False, labelAngle=angle,
        values=[i + 0.5 for i in range(len(names))], labelExpr=f"{listed}[floor(datum.value)]",
        labelFontSize=SMALL - 1 if len(names) > 40 else TEXT - 1, labelPadding=4,
        labelBaseline="top" if angle else "middle", labelAlign="right",
    )  # fmt: skip


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


def _rounded(low: float, high: float) -> tuple[float, float]:
    """A range, rounded outward to tenths."""
    bottom, top = np.floor(10 * low) / 10, np.ceil(10 * high) / 10
    return (float(bottom), float(top)) if bottom < top else (float(bottom), float(bottom) + 0.1)


def _numbers(base: altair.Chart, white: float, side: int) -> list[altair.Chart]:
    """Kappa as text in its cell, if there is room."""
    if side > _NUMBERED:
        return []
    return [
        base.transform_filter("datum.kappa !== null")
        .transform_calculate(x="datum.column + 0.5", y="datum.row + 0.5")
        .mark_text(fontSize=SMALL)
        .encode(
            text=altair.Text("kappa:Q", format=".2f"),
            color=altair.condition(
                f"datum.kappa > {white:g} && datum.row !== datum.column", altair.value("white"), altair.value(INK)
            ),
        )
    ]


def _frames(result: Similarity, side: int) -> altair.Chart:
    """A frame around each cluster of two or more models."""
    scale = side / len(result.models)
    places = np.flatnonzero(np.diff(np.array([0, *result.clusters, 0])))
    spans = [(a * scale, b * scale) for a, b in pairwise(places) if b - a > 1]
    rows = [{"low": round(float(a), 3), "high": round(float(b), 3)} for a, b in spans]
    return (
        altair.Chart(inline(rows))
        .mark_rect(fill=None, stroke=COLORS[1], strokeWidth=2)
        .encode(x2="high:Q", y2="high:Q")
    )


def _dominance(result: Similarity) -> altair.LayerChart:
    step = -(-len(result.pairs) // _POINTS)
    rows = [_point(pair) for pair in result.pairs[::step]]
    top = float(np.ceil(0.5 + max(max(row["expected"], row["high"]) for row in rows)))
    domain = altair.Scale(domain=[0, top], nice=False)
    x = altair.X("expected:Q", scale=domain, axis=percent_axis("if they erred independently"))
    y = altair.Y("observed:Q", scale=domain, axis=percent_axis("images only the weaker predicts correctly"))
    tooltip = [altair.Tooltip(f"{key}:N") for key in ("stronger", "weaker", "only the weaker right", "if independent")]
    points = altair.Chart().encode(x=x, tooltip=tooltip)
    line = altair.Chart(inline([{"at": 0.0}, {"at": top}]))
    names = [_line_label(top), *_named(rows)]
    shown = "" if step == 1 else f" (one in {step} of all {len(result.pairs):,})"
    return layered(
        line.mark_line(color=GRAY, strokeDash=[5, 4], strokeWidth=1.5).encode(x="at:Q", y="at:Q"),
        points.mark_rule(color=COLORS[0], opacity=0.45).encode(y=altair.Y("low:Q"), y2="high:Q"),
        points.mark_point(color=COLORS[0], size=16, opacity=0.8).encode(y=y),
        *map(halo, names),
        *names,
    ).properties(
        data=inline(rows),
        width=_SIDE,
        height=260,
        title=panel_heading(
            _dominated(result),
            f"How often the weaker of two models is right where the stronger is wrong; one point per pair{shown}, with "
            f"its {100 * result.basis.confidence:g}% interval",
        ),
    )


def _dominated(result: Similarity) -> str:
    pairs = np.triu_indices(len(result.models), k=1)
    observed, expected = (100 * np.median(part[pairs]) for part in (result.dominance.value, result.independent))
    return (
        f"Only the weaker of two models is right on {observed:.1f}% of images (median), compared with {expected:.1f}% "
        "for independent models"
    )


def _point(pair: SimilarPair) -> dict[str, Any]:
    return {
        "stronger": pair.first,
        "weaker": pair.second,
        "expected": percent(pair.independent),
        "observed": percent(pair.dominance.value),
        "low": percent(pair.dominance.low),
        "high": percent(pair.dominance.high),
        "only the weaker right": interval_text(pair.dominance),
        "if independent": f"{100 * pair.independent:.1f}%",
    }


def _line_label(top: float) -> altair.Chart:
    row = {"at": 0.72 * top, "text": "independent errors"}
    return direct_labels([row], x="at", y="at", text="text", align="right", dx=-10, dy=-4, color=GRAY)


def _named(rows: list[dict[str, Any]]) -> list[altair.Chart]:
    """Names of the pair with the highest dominance, and of the pair furthest below the line."""
    highest = max(rows, key=lambda row: row["observed"])
    lowest = min(rows, key=lambda row: row["observed"] / row["expected"] if row["expected"] else 1.0)
    labels = [direct_labels([_as_pair(highest)], align="right", dx=4, dy=-11, **_PLACE)]
    if lowest is not highest:
        labels.append(direct_labels([_as_pair(lowest)], **_below(lowest, highest), **_PLACE))
    return labels


def _below(lowest: dict[str, Any], highest: dict[str, Any]) -> dict[str, Any]:
    """The offset of the name of the lowest point: below it if there is room, and inside the panel."""
    if lowest["observed"] < 0.06 * max(highest["expected"], highest["observed"]):
        return {"dx": 8}
    return {"align": "right" if lowest["expected"] > highest["expected"] / 2 else "left", "dx": 4, "dy": 11}


_PLACE = {"x": "expected", "y": "observed", "text": "pair"}


def _as_pair(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "pair": f"{row['weaker']} and {row['stronger']}"}
