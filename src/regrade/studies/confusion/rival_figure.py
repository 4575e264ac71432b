"""The figure of the rivals of the confusion score: how well each identifies errors, and its cost."""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import inline, layered, name_axis
from regrade.display.style import COLORS, GRAY, SHAPES
from regrade.studies.confusion.figure_parts import numbers, plain_interval, titled_figure
from regrade.studies.confusion.findings import worth_findings
from regrade.studies.confusion.result import Confusion
from regrade.studies.confusion.rivals import Rival

_WIDTH = 250


def rival_figure(result: Confusion) -> Figure | None:
    """The AUROC of every score, best first, with its cost."""
    rivals = sorted((row for row in result.rivals if row.auroc), key=lambda row: -(row.auroc.value if row.auroc else 0))
    if len(rivals) < 2:
        return None
    rows: list[dict[str, Any]] = [
        {"score": row.score, "kind": _kind(row), **plain_interval(row.auroc),
         "shown": numbers(row.auroc, 3), "cost": _cost(row)}
        for row in rivals
    ]  # fmt: skip
    names, kinds = [row["score"] for row in rows], [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)]
    y = altair.Y("score:N", sort=names, axis=name_axis(len(names), labelLimit=270))
    color = altair.Color(
        "kind:N",
        sort=kinds,
        scale=altair.Scale(domain=kinds, range=[_KINDS[kind][0] for kind in kinds]),
        legend=altair.Legend(title=None, symbolOpacity=1),
    )
    shape = altair.Shape(
        "kind:N", sort=kinds, scale=altair.Scale(domain=kinds, range=[_KINDS[kind][1] for kind in kinds])
    )
    tooltip = [altair.Tooltip("score:N"), altair.Tooltip("shown:N", title="AUROC"), altair.Tooltip("cost:N")]
    base = altair.Chart(inline(rows)).encode(y=y, color=color, tooltip=tooltip)
    x = altair.X("value:Q", scale=altair.Scale(zero=False, padding=12), axis=altair.Axis(title="AUROC of errors"))
    baseline = next(row["value"] for row in rows if row["score"] == result.rivals[0].score)
    rule = altair.Chart(inline([{"value": baseline}])).mark_rule(color=GRAY, strokeDash=[3, 3]).encode(x="value:Q")
    cost = altair.Chart(inline(rows)).mark_text(align="left", dx=22, color=GRAY).encode(
        y=y, x=altair.value("width"), text="cost:N"
    )  # fmt: skip
    chart = layered(
        rule,
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=70).encode(x=x, shape=shape),
        cost,
    ).properties(width=_WIDTH, height=26 * len(names))
    findings = worth_findings(result)
    title = findings[0].headline if findings else f"Which score identifies errors on {result.test_set}?"
    subtitle = (
        f"How often an error has a higher score than a correct prediction, mean over "
        f"{amount(len(result.outsiders), 'model')}, with {100 * result.confidence:g}% intervals over images. Dashed: "
        f"the confusion score. Right: epochs of training / checkpoints that a score needs"
    )
    return titled_figure(result, title, subtitle, chart)


_KINDS = {
    "without labels": (COLORS[0], SHAPES[0]), "uses labels": (COLORS[1], SHAPES[1]), "people": (COLORS[2], SHAPES[2])
}  # fmt: skip


def _kind(rival: Rival) -> str:
    return "people" if rival.cost is None else "uses labels" if rival.uses_labels else "without labels"


def _cost(rival: Rival) -> str:
    return "" if rival.cost is None else f"{rival.cost.training_epochs:,} / {rival.cost.checkpoints:,}"
