"""The figure of people and models on several test sets: everyone's accuracy on each set, and the gaps to the first."""

from __future__ import annotations

from typing import Any

from regrade.core import PERSON_PREFIX, Estimate
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
    percent_axis,
)
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.studies.people.accuracy import Contender
from regrade.studies.people.sets_findings import sets_findings
from regrade.studies.people.sets_result import PeopleOnSets, SetsRow

_ROWS = 18  # the most people and models with readable names
_STEP = 11  # the height of one dot, in pixels
_WIDTH, _GAP_WIDTH = 250, 160
_IS_PERSON = f"indexof(datum.value, '{PERSON_PREFIX}') == 0"

_Points = list[dict[str, Any]]


def sets_figure(result: PeopleOnSets) -> Figure:
    """A dot with its interval for each set, people above models, and the gaps to the first set next to them."""
    rows = _drawn(result)
    title = sets_findings(result)[0].headline
    gaps = [_point(row, row.test_set, row.gap) for row in rows]
    axes = percent_axis("accuracy", tickCount=4), altair.Axis(title="gap, in points", tickCount=4)
    chart = altair.hconcat(
        _dots(result, _accuracies(result, rows), axes[0], labels=True).properties(width=_WIDTH),
        _dots(result, gaps, axes[1], labels=False).properties(width=_GAP_WIDTH),
        spacing=18,
        title=heading(title, _subtitle(result, rows)),
    )
    names = " and ".join(result.names)
    alt = f"{title}. Accuracies of people and models on {names}, with intervals, and the gaps between them."
    return Figure(f"people on {names}", alt, chart)


def _drawn(result: PeopleOnSets) -> list[SetsRow]:
    """The rows of all people, then of the best models, on every new set."""
    first = result.on(result.names[1])
    people, models = ([row.who for row in first if row.kind is kind] for kind in (Contender.PERSON, Contender.MODEL))
    chosen = [*people, *models[: max(_ROWS - len(people), 1)]]
    rows = [row for name in result.names[1:] for row in result.on(name) if row.who in chosen]
    return sorted(rows, key=lambda row: chosen.index(row.who))


def _accuracies(result: PeopleOnSets, rows: list[SetsRow]) -> _Points:
    """One point per contender and set, the original first."""
    first = [_point(row, result.original, row.original) for row in rows if row.test_set == result.names[1]]
    return [*first, *(_point(row, row.test_set, row.accuracy) for row in rows)]


def _point(row: SetsRow, test_set: str, estimate: Estimate) -> dict[str, Any]:
    text = interval_text(estimate)
    return {"who": row.who, "set": test_set, **interval(estimate), "text": text, "images": estimate.n}


def _dots(result: PeopleOnSets, points: _Points, axis: altair.Axis, *, labels: bool) -> altair.LayerChart:
    """Dots with intervals, a row per person or model; without labels, they are gaps and 0 is marked."""
    everyone = list(dict.fromkeys(point["who"] for point in points))
    legend = altair.Legend(title=None) if labels else None
    base = altair.Chart(inline(points)).encode(
        y=altair.Y("who:N", sort=everyone, axis=_names(everyone) if labels else None),
        yOffset=altair.YOffset("set:N", sort=list(result.names), scale=altair.Scale(domain=list(result.names))),
        color=altair.Color("set:N", scale=_scale(result, COLORS), legend=legend),
        tooltip=[altair.Tooltip(f"{key}:N") for key in ("who", "set", "text", "images")],
    )
    x, scale = altair.X("value:Q", axis=axis), altair.Scale(zero=not labels)
    shape = altair.Shape("set:N", scale=_scale(result, SHAPES), legend=legend)
    none = altair.Chart(inline([{"none": 0}])).mark_rule(color=GRAY, strokeDash=[3, 3]).encode(x="none:Q")
    return layered(
        *([] if labels else [none]),
        base.mark_rule(strokeWidth=2).encode(x=altair.X("value_low:Q", scale=scale), x2="value_high:Q"),
        base.mark_point(size=60).encode(x=x, shape=shape),
    ).properties(height=len(everyone) * (_STEP * len(result.names) + 4))


def _names(everyone: list[str]) -> altair.Axis:
    """The names of people in bold."""
    axis = name_axis(len(everyone), labelLimit=170)
    axis.labelFontWeight = {"condition": {"test": _IS_PERSON, "value": "bold"}, "value": "normal"}
    return axis


def _scale(result: PeopleOnSets, palette: tuple[str, ...]) -> altair.Scale:
    """The colors or shapes of the sets, the same in all panels."""
    return altair.Scale(domain=list(result.names), range=[palette[n % len(palette)] for n in range(len(result.names))])


def _subtitle(result: PeopleOnSets, rows: list[SetsRow]) -> str:
    models = sum(row.kind is Contender.MODEL for row in result.on(result.names[1]))
    shown = len({row.who for row in rows if row.kind is Contender.MODEL})
    which = f"; the best {shown} of {amount(models, 'model')}" if shown < models else ""
    row = rows[0]
    return (
        f"Accuracy of the same people (bold) and models on different images, with intervals ({row.original.method}), "
        f"and the gap: {result.original} minus the other set ({row.gap.method}){which}"
    )
