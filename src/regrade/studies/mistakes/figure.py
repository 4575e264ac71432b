"""The figure of a mistakes study: suggested kinds of errors, reviewed categories, and distance in the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regrade.core import MistakeCategory, UndefinedError
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
    panel_heading,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, FAINT, INK, SHAPES
from regrade.stats import proportion
from regrade.studies.mistakes.categories import CategoryCount
from regrade.studies.mistakes.confused_classes import DistanceCount
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.triage import TriageKind, TriageRow, in_order

_MODELS = 12  # the most bars shown
_READABLE = 11  # percent of a bar that is wide enough for a number
_WIDTH = 380
_FAR = 7  # mistakes at this distance or more are shown together, since there are few
_KIND_COLORS = dict(
    zip(TriageKind, (FAINT, COLORS[5], COLORS[0], COLORS[4], COLORS[3], COLORS[7], COLORS[2]), strict=True)
)
_PALE = (TriageKind.COLLAPSED, TriageKind.MULTILABEL, TriageKind.CO_OCCURRENCE, TriageKind.NON_PROTOTYPICAL)


def mistakes_figure(result: Mistakes) -> Figure:
    """Bars of suggested kinds, best models first; categories and distances of reviewed mistakes if there are any."""
    rows = [row for row in result.triage if row.errors]
    counts = [count for count in result.categories.counts if count.mistakes]
    if not rows and not counts:
        raise UndefinedError(f"there is no mistake on {result.test_set} to draw")
    panels: list[Any] = []
    if rows:
        panels.append(_triage(_spread(rows), len(rows), result.confidence))
    if counts:
        panels += [_categories(counts, "share"), _categories(counts, "major_share")]
    distances = [count for count in result.distances if count.categories and count.distance is not None]
    if distances:
        panels.append(_distances(distances, result.confidence))
    level = f"{100 * result.confidence:g}% intervals (Clopper-Pearson)"
    title = heading(_finding(rows, counts), f"{result.images_title} under {result.labels}, with {level}")
    chart = altair.VConcatChart(vconcat=panels, spacing=28, title=title).resolve_scale(
        color="independent", shape="independent", y="independent"
    )
    return Figure(f"mistakes on {result.test_set}", _finding(rows, counts) + ".", chart)


def _panel(title: str, subtitle: str) -> altair.TitleParams:
    """A panel's heading, aligned with its axis."""
    aligned = panel_heading(title, subtitle, width=_WIDTH)
    aligned.frame = "group"
    return aligned


def _finding(rows: Sequence[TriageRow], counts: Sequence[CategoryCount]) -> str:
    if rows:
        best = rows[0]
        failed = best.counts[list(TriageKind).index(TriageKind.FAILURE)]
        accepted, plain = (f"{100 * part / best.errors:.0f}%" for part in (best.accepted, failed))
        return (
            f"{accepted} of {best.model}'s {best.errors:,} errors under the original labels are correct under the new "
            f"ones; an automatic triage leaves {plain} unexplained"
        )
    first = counts[0]
    return f"Reviewers call {first.major:,} of {amount(first.mistakes, 'mistake')} of {first.review} major"


def _spread(rows: Sequence[TriageRow]) -> list[TriageRow]:
    """Models from best to worst, evenly chosen if there are too many to read."""
    places = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MODELS)).round().astype(int))
    return [rows[place] for place in places]


def _triage(rows: Sequence[TriageRow], of: int, confidence: float) -> altair.LayerChart:
    bars, edges = [], []
    for row in rows:
        name, before = _named(row), 0
        for (kind, count), (_, share) in zip(in_order(row.counts), in_order(row.shares or ()), strict=True):
            start, end = percent(before / row.errors), percent((before + count) / row.errors)
            before += count
            bars.append({
                "model": name, "kind": kind.value, "start": start, "end": end, "middle": round((start + end) / 2, 2),
                "count": count, "shown": interval_text(share), "errors": row.errors,
                "number": f"{count:,}" if end - start >= _READABLE else "", "ink": INK if kind in _PALE else "white",
            })  # fmt: skip
            if 0 < before < row.errors:
                edges.append({"model": name, **interval(proportion(before, row.errors, confidence=confidence))})
    names = [_named(row) for row in rows]
    y = altair.Y("model:N", sort=names, axis=name_axis(len(names)))
    used = [kind for kind, _ in in_order(rows[0].counts)]
    kinds = [kind.value for kind in used]
    color = altair.Color(
        "kind:N",
        sort=kinds,
        scale=altair.Scale(domain=kinds, range=[_KIND_COLORS[kind] for kind in used]),
        legend=altair.Legend(title=None, columns=3),
    )
    chosen = altair.selection_point(fields=["kind"], bind="legend")
    base = altair.Chart(inline(bars)).encode(y=y)
    drawn = base.mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=altair.X("start:Q", axis=percent_axis("errors of a model"), scale=altair.Scale(domain=[0, 100], nice=False)),
        x2="end:Q",
        color=color,
        opacity=altair.condition(chosen, altair.value(1), altair.value(0.25)),
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("kind:N"), altair.Tooltip("shown:N", title="share"),
            altair.Tooltip("count:Q", format=","), altair.Tooltip("errors:Q", format=","),
        ],
    ).add_params(chosen)  # fmt: skip
    numbers = base.mark_text(fontSize=10).encode(x="middle:Q", text="number:N", color=altair.Color("ink:N", scale=None))
    limits = altair.Chart(inline(edges)).mark_rule(color=INK, strokeWidth=1.5).encode(
        y=y, x="value_low:Q", x2="value_high:Q"
    )  # fmt: skip
    shown = (
        f"{len(rows)} of {of} models, from best to worst" if len(rows) < of else f"{amount(of, 'model')}, best first"
    )
    title = _panel(
        "Suggested kinds of errors, before review",
        f"The first kind that fits, as a suggestion. {shown}; numbers are counts of errors, thin lines are intervals "
        "of the borders",
    )
    height = len(rows) * name_step(len(rows))
    return layered(drawn, limits, numbers).properties(title=title, width=_WIDTH, height=height)


def _named(row: TriageRow) -> str:
    return f"{row.model} ({row.errors:,})"


def _categories(counts: Sequence[CategoryCount], of: str) -> altair.LayerChart:
    """One row per category, with one mark and interval per review."""
    reviews = list(dict.fromkeys(count.review for count in counts))
    rows = []
    for count in counts:
        estimate = count.share if of == "share" else count.major_share
        if estimate is not None:
            category = count.category.value if count.category else "all mistakes"
            rows.append({
                "review": count.review, "category": category, **interval(estimate), "shown": interval_text(estimate),
                "mistakes": count.mistakes, "major": count.major,
            })  # fmt: skip
    order = [*(category.value for category in MistakeCategory), "all mistakes"]
    present = [name for name in order if any(row["category"] == name for row in rows)]
    title = {
        "share": ("Categories of reviewed mistakes", "Share of each category among the mistakes of a model"),
        "major_share": ("Severity by category", "Share of major mistakes; borderline ones count as minor"),
    }[of]
    y = altair.Y("category:N", sort=present, axis=name_axis(len(present)))
    step = 14 * len(reviews) + 10
    return _marks(rows, reviews, y=y, x_title=("mistakes", "major among them")[of != "share"]).properties(
        title=_panel(*title), width=_WIDTH, height=len(present) * step
    )


def _marks(rows: list[dict[str, Any]], reviews: list[str], *, y: altair.Y, x_title: str) -> altair.LayerChart:
    color = altair.Color(
        "review:N",
        sort=reviews,
        scale=altair.Scale(domain=reviews, range=list(COLORS[: len(reviews)])),
        legend=altair.Legend(title=None),
    )
    shape = altair.Shape(
        "review:N", sort=reviews, scale=altair.Scale(domain=reviews, range=list(SHAPES[: len(reviews)]))
    )
    base = altair.Chart().encode(
        y=y,
        yOffset=altair.YOffset("review:N", sort=reviews),
        color=color,
        tooltip=[
            altair.Tooltip("review:N"), altair.Tooltip("category:N"), altair.Tooltip("shown:N", title="share"),
            altair.Tooltip("mistakes:Q", format=","), altair.Tooltip("major:Q", format=","),
        ],
    )  # fmt: skip
    ranges = base.mark_rule(strokeWidth=1.5).encode(x="value_low:Q", x2="value_high:Q")
    x = altair.X("value:Q", scale=altair.Scale(zero=True), axis=percent_axis(x_title))
    return layered(ranges, base.mark_point().encode(x=x, shape=shape)).properties(data=inline(rows))


def _distances(counts: Sequence[DistanceCount], confidence: float) -> altair.LayerChart:
    """The share of fine-grained mistakes at each distance with its interval, large distances together."""
    sources = list(dict.fromkeys(count.source for count in counts))
    rows = []
    for source in sources:
        for step in range(_FAR + 1):
            at_step = [count for count in counts if count.source == source and min(count.distance or 0, _FAR) == step]
            mistakes = sum(count.mistakes for count in at_step)
            if not mistakes:
                continue
            fine = proportion(sum(_fine(count) for count in at_step), mistakes, confidence=confidence)
            rows.append({
                "source": source, "distance": _step(step), **interval(fine), "shown": interval_text(fine),
                "mistakes": mistakes,
            })  # fmt: skip
    steps = [_step(step) for step in range(_FAR + 1)]
    color = altair.Color(
        "source:N",
        sort=sources,
        scale=altair.Scale(domain=sources, range=list(COLORS[: len(sources)])),
        legend=altair.Legend(title=None),
    )
    shape = altair.Shape(
        "source:N", sort=sources, scale=altair.Scale(domain=sources, range=list(SHAPES[: len(sources)]))
    )
    base = altair.Chart().encode(
        x=altair.X("distance:N", sort=steps, axis=altair.Axis(title="distance, in steps", labelAngle=0)),
        xOffset=altair.XOffset("source:N", sort=sources),
        color=color,
        tooltip=[
            altair.Tooltip("source:N", title="mistakes of"), altair.Tooltip("distance:N"),
            altair.Tooltip("shown:N", title="fine-grained"), altair.Tooltip("mistakes:Q", format=","),
        ],
    )  # fmt: skip
    ranges = base.mark_rule(strokeWidth=1.5).encode(y="value_low:Q", y2="value_high:Q")
    y = altair.Y("value:Q", scale=altair.Scale(domain=[0, 100]), axis=percent_axis("fine-grained"))
    title = _panel(
        "Are mistakes at small distances fine-grained?",
        "Share that reviewers call fine-grained, by distance in the hierarchy: the most steps to a common ancestor "
        "with the nearest correct class. At 0 the labels accept the prediction",
    )
    return (
        layered(ranges, base.mark_point().encode(y=y, shape=shape))
        .properties(data=inline(rows))
        .properties(title=title, width=_WIDTH, height=200)
    )


def _fine(count: DistanceCount) -> int:
    share = (count.categories or {})[MistakeCategory.FINE_GRAINED]
    return round(share.value * share.n)


def _step(distance: int) -> str:
    return f"{distance}+" if distance == _FAR else str(distance)
