"""The figure of a study of people: accuracy of people and models on all images and on subsets."""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, name_step, percent_axis
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.display.wording import listed
from regrade.studies.people.accuracy import Contender, PeopleRow
from regrade.studies.people.result import People
from regrade.studies.scoring import EVERYTHING, FEWEST_DRAWN

_ROWS = 18  # the most people and models with readable names
_PANELS = 3
_KINDS = {Contender.PERSON: "people", Contender.MODEL: "models"}


def people_figure(result: People) -> Figure:
    """A dot with its interval for each person and model, a panel for each of the first subsets."""
    drawn = _drawn(result)
    large = [name for name in result.sizes if name not in _small_subsets(result)]
    panels = {name: f"{name} ({result.sizes[name]:,})" for name in large[:_PANELS]}
    points = [_point(row, panels[row.subset]) for row in result.rows if row.subset in panels and row.who in drawn]
    chart = _dots(points, drawn).facet(
        altair.Facet(
            "panel:N", sort=list(panels.values()), title=None, header=altair.Header(labelAnchor="start", labelPadding=8)
        ),
        columns=len(panels),
        spacing=28,
        title=heading(_title(result), _subtitle(result, drawn)),
    )
    alt = f"{_title(result)}. Accuracies of {len(drawn)} people and models on {', '.join(panels)}, with intervals."
    return Figure(f"people on {result.basis.test_set}", alt, chart)


def _small_subsets(result: People) -> frozenset[str]:
    """The subsets with too few images to be drawn."""
    return frozenset(name for name, size in result.sizes.items() if name != EVERYTHING and size < FEWEST_DRAWN)


def _drawn(result: People) -> list[str]:
    """Everyone; if there are too many, all people and the best models, in their order."""
    people, models = result.names(Contender.PERSON), result.names(Contender.MODEL)
    chosen = {*people, *models[: max(_ROWS - len(people), 1)]}
    return [row.who for row in result.on(EVERYTHING) if row.who in chosen]


def _point(row: PeopleRow, panel: str) -> dict[str, Any]:
    change = {} if row.change is None else {"change": interval_text(row.change)}
    return {
        "who": row.who, "kind": _KINDS[row.kind], "panel": panel, **interval(row.accuracy),
        "accuracy": interval_text(row.accuracy), "images": row.accuracy.n, "change": "none", **change,
    }  # fmt: skip


def _dots(points: list[dict[str, Any]], drawn: list[str]) -> altair.LayerChart:
    kinds = [kind for kind in _KINDS.values() if any(point["kind"] == kind for point in points)]
    color = altair.Color(
        "kind:N",
        scale=altair.Scale(domain=kinds, range=[COLORS[1], GRAY][: len(kinds)]),
        legend=altair.Legend(title=None),
    )
    shape = altair.Shape("kind:N", scale=altair.Scale(domain=kinds, range=[SHAPES[2], SHAPES[0]][: len(kinds)]))
    base = altair.Chart().encode(
        y=altair.Y("who:N", sort=drawn, axis=name_axis(len(drawn), labelLimit=130)),
        color=color,
        tooltip=[
            altair.Tooltip("who:N"), altair.Tooltip("panel:N", title="on"), altair.Tooltip("accuracy:N"),
            altair.Tooltip("change:N", title="change to all images, in points"), altair.Tooltip("images:Q", format=","),
        ],
    )  # fmt: skip
    ranges = base.mark_rule(strokeWidth=2).encode(
        x=altair.X("value_low:Q", scale=altair.Scale(zero=False), axis=percent_axis("accuracy", tickCount=4)),
        x2="value_high:Q",
        strokeWidth=altair.condition("datum.kind == 'people'", altair.value(2.5), altair.value(1.5)),
    )
    sizes = altair.condition("datum.kind == 'people'", altair.value(95), altair.value(45))
    dots = base.mark_point().encode(x=altair.X("value:Q"), shape=shape, size=sizes)
    return layered(ranges, dots).properties(data=inline(points), width=118, height=len(drawn) * name_step(len(drawn)))


def _title(result: People) -> str:
    """The comparison of the best person and the best model."""
    people, models = result.names(Contender.PERSON), result.names(Contender.MODEL)
    if not models:
        values = {row.who: row.accuracy.value for row in result.on(EVERYTHING)}
        leaders = [name for name in people if values[name] == values[people[0]]]
        verb = "has" if len(leaders) == 1 else "have"
        return f"{listed(leaders)} {verb} the highest accuracy of {len(people)} people on {result.basis.test_set}"
    leader = result.ahead()
    if leader is None:
        return f"Not enough data to tell whether the best person or the best model is ahead on {result.basis.test_set}"
    ahead, behind = ("person", "model") if leader is Contender.PERSON else ("model", "person")
    return f"The best {ahead} is ahead of the best {behind} on {result.basis.test_set}"


def _subtitle(result: People, drawn: list[str]) -> str:
    people, models = result.names(Contender.PERSON), result.names(Contender.MODEL)
    shown = len(drawn) - len(people)
    which = f"the best {shown} of {len(models):,} models" if shown < len(models) else amount(len(models), "model")
    judged = f", {result.basis.labels}@{result.basis.labels_version}" if result.basis.labels else ""
    method = result.on(EVERYTHING)[0].accuracy.method
    with_models = f" and {which}" if models else ""
    small = len(_small_subsets(result))
    left_out = f"; {amount(small, 'subset')} with fewer than {FEWEST_DRAWN} images not drawn" if small else ""
    return (
        f"Accuracy of {amount(len(people), 'person', 'people')}{with_models} on the same "
        f"{amount(result.basis.images, 'image')}{judged}, and on "
        f"subsets of them (images in brackets), with intervals ({method}){left_out}"
    )
