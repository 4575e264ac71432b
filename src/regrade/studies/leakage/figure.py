"""The figure of a leakage study: accuracies on near duplicates and on other images, and distances of neighbors."""

from __future__ import annotations

from typing import Any

from regrade.core import Estimate, UndefinedError
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
    percent_axis,
)
from regrade.display.style import COLORS, INK, PALE, SHAPES
from regrade.studies.leakage.result import ANY, Leakage

_MODELS = 60  # the most rows that are readable
_WIDTH = 440
_NAMES = {"pixels": "pixels", "dssim": "DSSIM", "phash": "perceptual hash", "features": "features",
          "embeddings": "embeddings"}  # fmt: skip


def leakage_figure(result: Leakage) -> Figure:
    """Every model on near duplicates and on other images; below, distances of nearest neighbors with the threshold."""
    panels: list[Any] = [*_accuracies(result), *_distances(result)]
    if not panels:
        raise UndefinedError(f"there is nothing to draw: {result.title} has neither distances nor accuracies")
    chart = altair.vconcat(*panels, spacing=28).resolve_scale(color="independent", shape="independent")
    whole = result.by(ANY)
    alt = f"{amount(whole.images, 'near duplicate')} in {result.title}; distances of nearest neighbors and accuracies."
    return Figure(f"leakage of {result.title}", alt, chart.properties(title=heading(*_headings(result))))


def _headings(result: Leakage) -> tuple[str, str]:
    whole = result.by(ANY)
    verb = "has" if whole.images == 1 else "have"
    kind = f"{verb} a near duplicate in {result.against}" if result.against else "are surplus copies"
    if not whole.images:
        title = f"No near duplicate of {result.test_set} was found in {result.against or 'the set itself'}"
    else:
        title = f"{amount(whole.images, 'image')} of {result.test_set} {kind}"
    share = f"{interval_text(whole.share, digits=2)} of {amount(whole.share.n, 'image')}" if whole.share else ""
    methods = ", ".join(by_distance.distance for by_distance in result.results if by_distance.distance != ANY)
    return title, f"{share} (by {methods}; {whole.share.method if whole.share else ''})"


def _distances(result: Leakage) -> list[Any]:
    kinds = [name for name in _NAMES if any(bar.distance == name and bar.images for bar in result.nearest)]
    return [_histogram(result, name) for name in kinds]


def _histogram(result: Leakage, name: str) -> Any:
    bars = [bar for bar in result.nearest if bar.distance == name]
    by_distance, step = result.by(name), bars[0].high or 0.25
    last = bars[-1].low + step
    rows = [
        {
            "low": bar.low,
            "high": last if bar.high is None else bar.high,
            "images": bar.images,
            "part": "within the threshold" if bar.high is not None and bar.high <= 1 else "beyond",
            "shown": f"over {bar.low:g}" if bar.high is None else f"{bar.low:g} to {bar.high:g}",
        }
        for bar in bars
        if bar.images
    ]
    shape = altair.Chart().encode(
        x=altair.X(
            "low:Q",
            scale=altair.Scale(domain=[0, last], nice=False),
            axis=altair.Axis(
                title="distance of the nearest image, 1 = the threshold",
                values=[0, 1, 2, 3, 4],
                format="d",
                grid=False,
            ),
        ),
        x2="high:Q",
        y=altair.Y("images:Q", axis=altair.Axis(title="images", tickCount=4, format=",d", tickMinStep=1)),
        y2=altair.datum(0),
        color=altair.Color(
            "part:N",
            scale=altair.Scale(domain=["within the threshold", "beyond"], range=[COLORS[1], PALE]),
            legend=None,
        ),
        tooltip=[altair.Tooltip("shown:N", title="distance / threshold"), altair.Tooltip("images:Q", format=",")],
    )
    rule = altair.Chart(inline([{"x": 1}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="x:Q")
    shown = sum(bar.images for bar in bars)
    doubtful = by_distance.unconfirmed
    counts = f"{amount(by_distance.pairs, 'pair')}, {amount(by_distance.images, 'image')}"
    counts += f", and {amount(doubtful, 'similar pair')} that the pixels do not confirm" if doubtful else ""
    title = panel_heading(
        f"By {_NAMES[name]}",
        f"threshold {_threshold(by_distance.cut)}: {counts}; nearest neighbors of {amount(shown, 'image')}, the last "
        "bar is open-ended",
        width=_WIDTH,
    )
    bar = shape.mark_bar(binSpacing=1).properties(data=inline(rows))
    return layered(bar, rule).properties(width=_WIDTH, height=110, title=title)


def _threshold(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _accuracies(result: Leakage) -> list[Any]:
    models = result.models_by()[:_MODELS]
    words = ("leaked", "clean") if result.against else ("surplus", "one of each")
    rows = [
        point
        for model in models
        for kind, estimate in ((words[0], model.leaked), (words[1], model.clean))
        for point in _point(model.model, kind, estimate, model.change)
    ]
    if not rows or not any(row["kind"] == words[0] for row in rows):
        return []
    names = [model.model for model in models]
    legend = altair.Legend(title=None, symbolOpacity=1)
    scale = altair.Scale(domain=list(words), range=[COLORS[1], COLORS[0]])
    base = altair.Chart().encode(
        y=altair.Y("model:N", sort=names, axis=name_axis(len(names))),
        yOffset=altair.YOffset("kind:N", sort=list(words), scale=altair.Scale(paddingOuter=0.6)),
        color=altair.Color("kind:N", sort=list(words), scale=scale, legend=legend),
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("kind:N", title="on"),
            altair.Tooltip("shown:N", title="accuracy"), altair.Tooltip("images:Q", format=","),
            altair.Tooltip("change:N", title=f"all − {words[1]}, points"),
        ],
    )  # fmt: skip
    shape = altair.Shape("kind:N", sort=list(words), scale=altair.Scale(domain=list(words), range=list(SHAPES[:2])))
    x = altair.X("value:Q", scale=altair.Scale(zero=False), axis=percent_axis("top-1 accuracy"))
    ranges = base.mark_rule(strokeWidth=1.5).encode(x=altair.X("value_low:Q"), x2="value_high:Q")
    counts = {row["kind"]: row["images"] for row in rows}
    every = len(result.models_by())
    which = f"; the best {_MODELS} of {every:,} models" if every > _MODELS else ""
    images = ", ".join(f"{kind}: {amount(count, 'image')}" for kind, count in counts.items())
    method = models[0].all.method
    title = panel_heading(
        f"Accuracy on {words[0]} and {words[1]} images", f"{images}; intervals: {method}{which}", width=_WIDTH
    )
    chart = layered(ranges, base.mark_point().encode(x=x, shape=shape)).properties(data=inline(rows))
    return [chart.properties(width=_WIDTH, height=max(len(names), 2) * (name_step(len(names)) + 8), title=title)]


def _point(model: str, kind: str, estimate: Estimate | None, change: Estimate | None) -> list[dict[str, Any]]:
    if estimate is None:
        return []
    moved = f"{100 * change.value:+.2f} [{100 * change.low:+.2f}, {100 * change.high:+.2f}]" if change else "–"
    return [
        {
            "model": model,
            "kind": kind,
            **interval(estimate),
            "shown": interval_text(estimate),
            "images": estimate.n,
            "change": moved,
        }
    ]
