"""The figure of a grade: every model's accuracy with its interval, best first."""

from __future__ import annotations

from typing import Any

from regrade.core import PERSON_PREFIX, Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, name_step, percent_axis
from regrade.display.style import COLORS, INK, SHAPES
from regrade.display.wording import listed
from regrade.studies.grade.result import Grade, GradeRow
from regrade.studies.scoring import EVERYTHING, FEWEST_DRAWN

_MODELS = 120  # the most rows that are readable
_SPREAD = 160  # the most dots of a panel that are drawn below each other where a model has several
_STEP = 10  # the height of one of them, in pixels
_MEASURES = {
    "top1": "top-1",
    "top1_same_images": "top-1, same images",
    "multilabel": "multi-label",
    "reviewed": "multi-label, reviewed",
}


def grade_figure(result: Grade) -> Figure:
    """A dot with its interval for each model and slice; without slices, for top-1 and multi-label accuracy."""
    sliced = any(row.slice != EVERYTHING for row in result.rows)
    points = _by_slice(result) if sliced else _by_measure(result)
    if not points:
        raise UndefinedError(f"no accuracy on {result.test_set} is defined: there is nothing to draw")
    kinds = list(dict.fromkeys(point["kind"] for point in points))
    models = list(dict.fromkeys(point["model"] for point in points))
    drawn = [point for point in points if point["model"] in models[:_MODELS]]
    title = heading(*_headings(result, models, points[0]["of"] if sliced else "Accuracy"))
    chart = _few_kinds(drawn, kinds) if len(kinds) <= len(COLORS) else _many_kinds(drawn, kinds)
    alt = f"Accuracies of {amount(len(models), 'model')} on {result.test_set}: {', '.join(kinds)}."
    return Figure(f"grade on {result.test_set}", alt, chart.properties(title=title))


def _by_measure(result: Grade) -> list[dict[str, Any]]:
    measures = [(key, name) for key, name in _MEASURES.items() if any(getattr(row, key) for row in result.rows)]
    if result.labels and any(row.reviewed for row in result.rows):
        measures = [(key, name) for key, name in measures if key != "multilabel"]
    if any(row.top1_same_images for row in result.rows):  # multi-label accuracy is over other images than top-1
        measures = [(key, name) for key, name in measures if key != "top1"]
    return [point for row in result.rows for key, name in measures for point in _point(row, getattr(row, key), name)]


def _by_slice(result: Grade) -> list[dict[str, Any]]:
    key = "multilabel" if any(row.multilabel for row in result.rows) else "top1"
    of = f"{_MEASURES[key].capitalize()} accuracy"
    drawn = [row for row in result.rows if row.slice not in _small_slices(result)]
    return [{**point, "of": of} for row in drawn for point in _point(row, getattr(row, key), row.slice)]


def _small_slices(result: Grade) -> frozenset[str]:
    """The slices with too few images to be drawn."""
    return frozenset(row.slice for row in result.rows if row.slice != EVERYTHING and row.images < FEWEST_DRAWN)


def _point(row: GradeRow, estimate: Estimate | None, kind: str) -> list[dict[str, Any]]:
    if estimate is None:
        return []
    return [
        {"model": row.model, "kind": kind, **interval(estimate), "shown": interval_text(estimate), "images": estimate.n}
    ]


def _headings(result: Grade, models: list[str], of: str) -> tuple[str, str]:
    method = next(e.method for row in result.rows for e in (row.top1, row.multilabel, row.reviewed) if e)
    against = f" against {result.labels}@{result.labels_version}" if result.labels else ""
    shown = f"; the best {_MODELS} of {len(models):,}" if len(models) > _MODELS else ""
    if small := len(_small_slices(result)):
        shown += f"; {amount(small, 'slice')} with fewer than {FEWEST_DRAWN} images not drawn"
    title = f"{_leading(result, models)} on {result.test_set}"
    return title, f"{of}{against}, best first, with intervals ({method}){shown}"


def _leading(result: Grade, models: list[str]) -> str:
    """The model with the highest accuracy, or all that are tied."""
    among = "models and people" if any(name.startswith(PERSON_PREFIX) for name in models) else "models"
    leaders, count = _leaders(result, models), f"{len(models):,} {among}"
    if len(models) == 1:
        return models[0]
    if len(leaders) == 1:
        return f"{leaders[0]} has the highest accuracy of {count}"
    if len(leaders) == len(models):
        return f"All {count} have the same accuracy"
    return f"{listed(leaders)} have the same accuracy, the highest of {count},"


def _leaders(result: Grade, models: list[str]) -> list[str]:
    """The models with the highest accuracy on all images: several if they are tied."""
    values = {
        row.model: accuracy.value
        for row in result.rows
        if row.slice == EVERYTHING and (accuracy := row.top1 or row.multilabel)
    }
    return [model for model in models if values.get(model) == values.get(models[0])]


def _few_kinds(points: list[dict[str, Any]], kinds: list[str]) -> altair.LayerChart:
    """One panel, with a color and a shape per kind."""
    count = len({point["model"] for point in points})
    legend = None if len(kinds) == 1 else altair.Legend(title=None, columns=4, symbolOpacity=1)
    colors = [INK, *COLORS] if kinds[0] == EVERYTHING else list(COLORS)
    color = altair.Color(
        "kind:N", sort=kinds, scale=altair.Scale(domain=kinds, range=colors[: len(kinds)]), legend=legend
    )
    shape = altair.Shape(
        "kind:N", sort=kinds, scale=altair.Scale(domain=kinds, range=list(SHAPES[: len(kinds)])), legend=legend
    )
    if len(kinds) == 1 or len(points) > _SPREAD:
        return _dots(points, color, shape).properties(height=count * name_step(count), width=380)
    below_each_other = altair.YOffset("kind:N", sort=kinds, scale=altair.Scale(domain=kinds))
    dots = _dots(points, color, shape, yOffset=below_each_other)
    return dots.properties(height=count * (_STEP * len(kinds) + 8), width=380)


def _many_kinds(points: list[dict[str, Any]], kinds: list[str]) -> altair.FacetChart:
    """One panel per kind, if there are more kinds than colors."""
    count = len({point["model"] for point in points})
    dots = _dots(points, altair.value(COLORS[0]), altair.value(SHAPES[0]))
    panel = dots.properties(height=count * name_step(count), width=190)
    facet = altair.Facet("kind:N", sort=kinds, title=None, header=altair.Header(labelAnchor="start"))
    return panel.facet(facet, columns=2)


def _dots(points: list[dict[str, Any]], color: Any, shape: Any, **offset: Any) -> altair.LayerChart:
    models = list(dict.fromkeys(point["model"] for point in points))
    base = altair.Chart().encode(
        y=altair.Y("model:N", sort=models, axis=name_axis(len(models))),
        color=color,
        **offset,
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("kind:N", title="of"),
            altair.Tooltip("shown:N", title="accuracy"), altair.Tooltip("images:Q", format=","),
        ],
    )  # fmt: skip
    x = altair.X("value:Q", scale=altair.Scale(zero=False), axis=percent_axis("accuracy"))
    ranges = base.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q"), x2="value_high:Q")
    return layered(ranges, base.mark_point().encode(x=x, shape=shape)).properties(data=inline(points))
