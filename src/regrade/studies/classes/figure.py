"""The figure of a study of classes: the confusion matrix of the best model, ordered so that confused classes meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered, panel_heading, percent
from regrade.display.style import FAINT, INK, SEQUENTIAL, SMALL, TEXT, WHITE_TEXT
from regrade.studies.classes.findings import class_findings
from regrade.studies.classes.result import ClassGrades, ConfusionMatrix

_NUMBERED = 14  # the most classes with room for a number in each cell
_SIDE = 420  # pixels
_LEAST = 0.005  # shares below this are drawn without a number


def class_figure(result: ClassGrades) -> Figure:
    """Cells are shares of the images of a label, colored by how often it is confused; with many classes two parts."""
    matrix, several = result.matrix, result.superclasses
    name = f"confusions on {result.test_set}"
    headline = next((finding.headline for finding in class_findings(result)), name)
    subtitle = (
        f"{matrix.model} on {result.test_set}: share of the images of a label (row) by predicted class (column), in %. "
        f"Colors are of confusions only. Classes are ordered by {matrix.order}."
    )
    if several is None:
        chart = _heat_map(matrix)
        shown = f"{matrix.title[:1].upper()}{matrix.title[1:]}"
    else:
        upper = _heat_map(several).properties(title=panel_heading(f"By superclass: {several.order}"))
        lower = _heat_map(matrix).properties(title=panel_heading(f"{matrix.title[:1].upper()}{matrix.title[1:]}"))
        chart = altair.vconcat(upper, lower, spacing=36).resolve_scale(color="independent")
        shown = f"Superclasses, and {matrix.title}"
    title = heading(headline, subtitle)
    return Figure(name, f"{headline}. Confusion matrix of {matrix.model}: {shown}.", chart.properties(title=title))


def _heat_map(matrix: ConfusionMatrix) -> altair.LayerChart:
    names, side = list(matrix.classes), len(matrix.classes)
    step = max(_SIDE // side, 11)
    confused = matrix.shares.copy()
    np.fill_diagonal(confused, 0.0)
    largest = max(float(np.nanmax(confused, initial=0.0)), _LEAST)
    small = TEXT - 1 if step >= 14 else SMALL - 1
    axis: dict[str, Any] = {"title": None, "grid": False, "ticks": False, "domain": False, "labelFontSize": small}
    angle = -60 if max(map(len, names)) > 2 else 0
    x = altair.X("predicted:N", sort=names, axis=altair.Axis(labelAngle=angle, labelOverlap=False, **axis))
    y = altair.Y("label:N", sort=names, axis=altair.Axis(labelOverlap=False, **axis))
    color = altair.Color(
        "share:Q",
        scale=altair.Scale(scheme=SEQUENTIAL, domain=[0, percent(largest)]),
        legend=altair.Legend(title="predicted as another class, in %", gradientLength=180, titleLimit=300),
    )
    base = altair.Chart().encode(x=x, y=y, tooltip=_tooltip())
    cells = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        color=altair.condition("datum.label === datum.predicted", altair.value(FAINT), color),
        opacity=altair.condition("datum.count > 0", altair.value(1), altair.value(0)),
    )
    layers = [cells, *_numbers(base, percent(largest), side)]
    return layered(*layers).properties(data=inline(_cells(matrix)), width=side * step, height=side * step)


def _numbers(base: altair.Chart, largest: float, side: int) -> list[altair.Chart]:
    if side > _NUMBERED:
        return []
    text = base.transform_filter(f"datum.share >= {100 * _LEAST}").mark_text(fontSize=TEXT - 1)
    ink = f"datum.label !== datum.predicted && datum.share > {WHITE_TEXT * largest:g}"
    color = altair.condition(ink, altair.value("white"), altair.value(INK))
    return [text.encode(text=altair.Text("share:Q", format=".0f"), color=color)]


def _tooltip() -> list[altair.Tooltip]:
    return [
        altair.Tooltip("label:N"), altair.Tooltip("predicted:N"), altair.Tooltip("count:Q", title="images", format=","),
        altair.Tooltip("share:Q", title="% of the label's images"),
    ]  # fmt: skip


def _cells(matrix: ConfusionMatrix) -> list[dict[str, Any]]:
    """The cells, with a share of None for labels without images."""
    shares = matrix.shares
    return [
        {
            "label": label, "predicted": predicted, "count": int(matrix.counts[i, j]),
            "share": None if np.isnan(shares[i, j]) else percent(shares[i, j]),
        }
        for i, label in enumerate(matrix.classes)
        for j, predicted in enumerate(matrix.classes)
    ]  # fmt: skip
