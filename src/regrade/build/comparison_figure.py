"""The figure of a comparison: dates, sizes, images per author and licenses of a pool and its reference set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.build.comparison import DATES, SIZES, ComparedProperty, ComparedValue, Conclusion
from regrade.core import UndefinedError
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered, panel_heading, percent
from regrade.display.style import COLORS, SHAPES, TEXT
from regrade.display.wording import listed

_WIDTH, _HEIGHT = 300, 150
_MOST = 12  # the most categories of a panel
_UNITS = {"width": "pixels", "height": "pixels", "file bytes": "bytes"}


def comparison_figure(
    pool: str, reference: str, properties: Sequence[ComparedProperty], values: Sequence[ComparedValue]
) -> Figure:
    """Small multiples of what was compared: dates, sizes, authors and licenses."""
    names = (pool, reference)
    by_property = {row.name: [value for value in values if value.name == row.name] for row in properties}
    panels = [
        *(_shares(row, by_property[row.name], names) for row in properties if row.name in DATES),
        *(_quantiles(row, by_property[row.name], names) for row in properties if row.name in SIZES),
        *(_shares(row, by_property[row.name], names) for row in properties if row.name == "images per author"),
        *(_shares(row, by_property[row.name], names) for row in properties if row.name == "license"),
    ]
    drawn = [panel for panel in panels if panel is not None]
    if not drawn:
        raise UndefinedError(f"there is nothing to draw: {pool} and {reference} have no property in common")
    title = _title(pool, reference, properties)
    chart = altair.concat(*drawn, columns=2, spacing=36).resolve_scale(x="independent", y="independent")
    subtitle = "Shares of the images, or of the authors, of each set; sizes: 5% to 95%, 25% to 75%, and median."
    alt = f"{title}. " + " ".join(f"{row.name}: {row.conclusion.value}." for row in properties)
    return Figure(
        f"comparison of {pool} and {reference}",
        alt,
        chart.properties(title=heading(title, subtitle, width=2 * _WIDTH)),
    )


def _title(pool: str, reference: str, properties: Sequence[ComparedProperty]) -> str:
    differing = [row.name for row in properties if row.conclusion is Conclusion.DIFFERS]
    if differing:
        return f"{pool} differs from {reference} in {listed(differing)}"
    return f"No difference between {pool} and {reference} was detected"


def _color(names: tuple[str, str]) -> Any:
    scale = altair.Scale(domain=list(names), range=[COLORS[1], COLORS[0]])
    return altair.Color("set:N", sort=list(names), scale=scale, legend=altair.Legend(title=None))


def _heading(row: ComparedProperty) -> Any:
    p_value = "" if row.holm is None else f", p {'< 0.01' if row.holm < 0.01 else f'= {row.holm:.2f}'}"
    return panel_heading(row.name, f"{row.conclusion.value}{p_value}", width=_WIDTH)


def _shares(row: ComparedProperty, values: Sequence[ComparedValue], names: tuple[str, str]) -> Any:
    """Bars of both sets per category; the rarest of many categories are left out."""
    counts = [value for value in values if value.pool_share is not None and value.reference_share is not None]
    if row.name == "images per author":
        counts = [value for value in counts if value.value.startswith("authors with")]
    if row.name not in DATES:
        counts = counts[:_MOST]
    if not counts:
        return None
    order = [_short(value.value) for value in counts]
    data = [
        {"value": _short(value.value), "set": name, "share": percent(share or 0.0), "images": images}
        for value in counts
        for name, share, images in zip(
            names, (value.pool_share, value.reference_share), (value.pool, value.reference), strict=True
        )
    ]
    tooltip: list[Any] = [
        "set:N",
        "value:N",
        altair.Tooltip("share:Q", title="%"),
        altair.Tooltip("images:Q", title="number"),
    ]
    chart = altair.Chart().encode(color=_color(names), tooltip=tooltip)
    size = altair.Axis(title="%", tickCount=4)
    if row.name in DATES:
        marked = chart.mark_line(point=True).encode(
            x=altair.X("value:O", sort=order, axis=altair.Axis(title=None, labelOverlap=True)),
            y=altair.Y("share:Q", axis=size),
            shape=altair.Shape("set:N", sort=list(names), scale=altair.Scale(range=list(SHAPES[:2])), legend=None),
        )
        height = _HEIGHT
    else:
        marked = chart.mark_bar().encode(
            y=altair.Y("value:N", sort=order, axis=altair.Axis(title=None, ticks=False, domain=False, labelLimit=150)),
            yOffset=altair.YOffset("set:N", sort=list(names)),
            x=altair.X("share:Q", axis=size),
        )
        height = max(len(order) * 26, 60)
    return marked.properties(data=inline(data), width=_WIDTH, height=height, title=_heading(row))


def _short(value: str) -> str:
    return value.removeprefix("authors with ")


def _quantiles(row: ComparedProperty, values: Sequence[ComparedValue], names: tuple[str, str]) -> Any:
    """The quantiles of both sets as two bars and a point each."""
    if not values:
        return None
    sides = [[value.pool for value in values], [value.reference for value in values]]
    keys = ("low", "lower", "median", "upper", "high")
    data = [{"set": name, **dict(zip(keys, side, strict=True))} for name, side in zip(names, sides, strict=True)]
    axis = altair.Axis(title=None, ticks=False, domain=False, labelFontSize=TEXT)
    base = altair.Chart().encode(
        y=altair.Y("set:N", sort=list(names), axis=axis),
        color=_color(names),
        tooltip=["set:N", *(altair.Tooltip(f"{key}:Q", format=",.0f") for key in keys)],
    )
    form = "~s" if row.name == "file bytes" else ",d"
    scale, x = altair.Scale(zero=False, nice=True), altair.Axis(title=_UNITS[row.name], tickCount=4, format=form)
    chart = layered(
        base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", scale=scale, axis=x), x2="high:Q"),
        base.mark_rule(strokeWidth=8, opacity=0.5).encode(x=altair.X("lower:Q"), x2="upper:Q"),
        base.mark_point(size=70).encode(x=altair.X("median:Q")),
    )
    return chart.properties(data=inline(data), width=_WIDTH, height=60, title=_heading(row))
