"""The figure of a confusion study: scores, errors by score, errors on hard images, and expected errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regrade.core import Estimate
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
from regrade.display.style import COLORS, GRAY, INK, SHAPES
from regrade.stats import proportion
from regrade.studies.confusion.findings import harder_for, with_difference
from regrade.studies.confusion.result import ConfusedModel, Confusion
from regrade.studies.confusion.trend_figure import accuracy_trend, trend_heading, trend_panel
from regrade.studies.scoring import FEWEST_DRAWN

_WIDTH = 400
_CURVES, _ROWS = 3, 14  # the most models that are readable as curves and as rows
_FULL = 25  # a bin with fewer images is merged with the next one
_BARS = 40  # bins of the histogram
_METHODS = (
    ("by_score", "by confusion score"),
    ("average_confidence", "average confidence"),
    ("thresholded", "thresholded confidence"),
    ("agreement_line", "agreement on the line"),
)


def confusion_figure(result: Confusion) -> Figure:
    """Panels from top to bottom; a panel without data is left out."""
    panels: list[Any] = [_histogram(result)]
    if result.models:
        panels.append(_curves(result))
    if with_difference(result.models) and not _few_hard(result):
        panels.append(_transfer(result))
    if (trend := accuracy_trend(result)) is not None:
        panel = trend_panel(result, trend, width=_WIDTH, orient="bottom", columns=4)
        panels.append(panel.properties(title=_panel(*trend_heading(trend))))
    if result.unlabeled:
        panels.append(_expected(result))
    title = _title(result)
    ensemble = result.ensemble
    subtitle = (
        f"{amount(result.images, 'image')} of {result.test_set}, scored by {amount(len(ensemble.members), 'member')} "
        f"of {ensemble.name} at {amount(len(ensemble.epochs), 'epoch')}. The confusion score is the mean entropy of "
        f"their averaged probabilities: 0 means always certain, {ensemble.top:.1f} {ensemble.unit} that all classes "
        f"are equally likely{_left_out(result)}"
    )
    chart = altair.VConcatChart(vconcat=panels, spacing=30, title=heading(title, subtitle)).resolve_scale(
        color="independent", shape="independent", x="independent", y="independent"
    )
    return Figure(f"confusion on {result.test_set}", f"{title}. {subtitle}.", chart)


def _few_hard(result: Confusion) -> bool:
    """Whether there are too few hard images to draw errors on them."""
    return result.hard is not None and result.hard.images < FEWEST_DRAWN


def _left_out(result: Confusion) -> str:
    if not (_few_hard(result) and with_difference(result.models)):
        return ""
    return f"; errors on fewer than {FEWEST_DRAWN} hard images not drawn"


def _title(result: Confusion) -> str:
    return harder_for(result) or f"Which images confuse {result.ensemble.name}, and which models err on them?"


def _panel(title: str, subtitle: str) -> altair.TitleParams:
    """A panel's heading, aligned with its axis."""
    aligned = panel_heading(title, subtitle, width=_WIDTH)
    aligned.frame = "group"
    return aligned


def _histogram(result: Confusion) -> altair.Chart:
    """The histogram of images by score, hard images in another color."""
    edges = np.linspace(0, largest_score(result), _BARS + 1)
    hard = result.hard.inside if result.hard else np.zeros(result.images, dtype=bool)
    parts = {"hard": hard, "the rest": ~hard} if result.hard else {"images": ~hard}
    rows = []
    for name, inside in parts.items():
        counts, _ = np.histogram(result.scores[inside], edges)
        rows += [
            {"part": name, "from": round(edges[i], 3), "to": round(edges[i + 1], 3), "images": int(count),
             "share": percent(count / result.images)}
            for i, count in enumerate(counts) if count
        ]  # fmt: skip
    names = list(parts)
    colors = [COLORS[1], COLORS[5]] if result.hard else [COLORS[5]]
    middle = result.distribution.quantiles.get(0.5)
    half = "" if middle is None else f" Half of the images are below {middle.value:.2f} {result.ensemble.unit}."
    chosen = "" if result.hard is None else f" Hard: {result.hard.rule}, {result.hard.images:,} of {result.images:,}."
    return (
        altair.Chart(inline(rows))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=altair.X("from:Q", axis=score_axis(result), scale=score_scale(result), bin="binned"),
            x2="to:Q",
            y=altair.Y("share:Q", axis=percent_axis("images"), stack=True),
            color=altair.Color(
                "part:N",
                sort=names,
                scale=altair.Scale(domain=names, range=colors),
                legend=altair.Legend(title=None) if result.hard else None,
            ),
            order=altair.Order("part:N", sort="ascending"),
            tooltip=[
                altair.Tooltip("part:N", title="images are"), altair.Tooltip("images:Q", format=","),
                altair.Tooltip("share:Q", title="% of all"), altair.Tooltip("from:Q", title="score from"),
                altair.Tooltip("to:Q", title="to below"),
            ],
        )
        .properties(title=_panel("How confusing are the images?", (half + chosen).strip()), width=_WIDTH, height=150)
    )  # fmt: skip


def score_axis(result: Confusion) -> altair.Axis:
    """The axis of scores, with their unit."""
    return altair.Axis(title=f"confusion score, in {result.ensemble.unit}", format="~g")


def score_scale(result: Confusion) -> altair.Scale:
    """The scale from 0 to the largest score."""
    return altair.Scale(domain=[0, round(largest_score(result), 3)], nice=False)


def largest_score(result: Confusion) -> float:
    """The upper end of the score axis: slightly above the largest score, at most the largest possible one."""
    return min(result.ensemble.top, 1.05 * max(float(result.scores.max()), result.bins.width))


def _curves(result: Confusion) -> altair.LayerChart:
    """The error of a few models by score, with intervals; sparse bins are merged."""
    models = _few(result)
    names = [model.model for model in models]
    joined = joined_bins(result, models)
    shift = 0.12 * largest_score(result) / max(len(joined), 12)
    rows: list[dict[str, Any]] = []
    for place, model in enumerate(models):
        for low, high, places in joined:
            error = error_in(model, low, high, result.confidence)
            if error is None:
                continue
            at = float(result.scores[places].mean()) + shift * (place - (len(models) - 1) / 2)
            rows.append({
                "model": model.model, "at": round(at, 4), **interval(error), "shown": interval_text(error),
                "images": error.n, "score": f"{low:.2f} to {high:.2f}",
            })  # fmt: skip
    tooltip = [
        altair.Tooltip("model:N"), altair.Tooltip("score:N"), altair.Tooltip("shown:N", title="error"),
        altair.Tooltip("images:Q", format=","),
    ]  # fmt: skip
    base = altair.Chart().encode(
        x=altair.X("at:Q", axis=score_axis(result), scale=score_scale(result)), color=_color(names), tooltip=tooltip
    )
    y = altair.Y("value:Q", axis=percent_axis("error"), scale=altair.Scale(domain=[0, 100], nice=False))
    least = min((row["images"] for row in rows), default=0)
    correlations = [model.curve.single.value for model in models if model.curve.single]
    ends = f"{min(correlations):.2f} to {max(correlations):.2f}" if correlations else ""
    correlation = f" Correlation over images: {ends}." if ends else ""
    return layered(
        base.mark_rule(strokeWidth=1.5).encode(y=altair.Y("value_low:Q"), y2="value_high:Q"),
        base.mark_line(strokeWidth=1, opacity=0.5).encode(y=y),
        base.mark_point().encode(y=y, shape=_shape(names)),
    ).properties(
        data=inline(rows),
        title=_panel(
            "Do models err more where the score is high?",
            f"Error by score with {100 * result.confidence:g}% intervals; sparse bins are merged, to at least "
            f"{least:,} images.{correlation}",
        ),
        width=_WIDTH,
        height=220,
    )


def _few(result: Confusion) -> list[ConfusedModel]:
    """The ensemble itself, and the best, the median and the worst of the other models."""
    outsiders = result.outsiders
    places = sorted({0, len(outsiders) // 2, len(outsiders) - 1}) if outsiders else []
    own = [model for model in result.models if model.inside][:1]
    return [*own, *(outsiders[place] for place in places[:_CURVES])]


def joined_bins(result: Confusion, models: Sequence[ConfusedModel]) -> list[tuple[float, float, Any]]:
    """Neighboring bins merged until they contain enough images, with their images; a remainder joins the last."""
    edges = sorted({(bin_.low, bin_.high) for model in models for bin_ in model.curve.bins})
    spans: list[tuple[float, float]] = []
    start, seen = None, 0
    for low, high in edges:
        start = low if start is None else start
        seen += min(_size(model, low) for model in models)
        if seen >= _FULL:
            spans.append((start, high))
            start, seen = None, 0
    if start is not None:
        first = spans.pop()[0] if spans else start
        spans.append((first, edges[-1][1]))
    merged = [(low, high, (result.scores >= low) & (result.scores < high + 1e-9)) for low, high in spans]
    return [(low, high, places) for low, high, places in merged if places.any()]


def _size(model: ConfusedModel, low: float) -> int:
    return next((bin_.error.n for bin_ in model.curve.bins if bin_.low == low), 0)


def error_in(model: ConfusedModel, low: float, high: float, confidence: float) -> Estimate | None:
    """The error of a model on images with scores between two edges of bins; None without images."""
    inside = [bin_.error for bin_ in model.curve.bins if low <= bin_.low and bin_.high <= high + 1e-9]
    images = sum(error.n for error in inside)
    wrong = sum(round(error.value * error.n) for error in inside)
    return proportion(wrong, images, confidence=confidence) if images else None


def _color(names: list[str]) -> altair.Color:
    palette = [COLORS[i] for i in (0, 1, 2, 3)]
    return altair.Color(
        "model:N",
        sort=names,
        scale=altair.Scale(domain=names, range=palette[: len(names)]),
        legend=altair.Legend(title=None, columns=2, labelLimit=190, symbolOpacity=1),
    )


def _shape(names: list[str]) -> altair.Shape:
    return altair.Shape("model:N", sort=names, scale=altair.Scale(domain=names, range=list(SHAPES[: len(names)])))


def _transfer(result: Confusion) -> altair.LayerChart:
    """One row per model, with a line from its error on the rest to that on hard images."""
    models = with_difference(result.models)
    shown = [models[i] for i in np.unique(np.linspace(0, len(models) - 1, min(len(models), _ROWS)).round().astype(int))]
    rows, links = [], []
    for model in shown:
        transfer = model.transfer
        if transfer is None or transfer.hard is None or transfer.rest is None or transfer.difference is None:
            continue
        difference = interval_text(transfer.difference).replace("%", " points")
        for part, estimate in (("hard images", transfer.hard), ("the rest", transfer.rest)):
            rows.append({
                "model": model.model, "images": part, **interval(estimate), "shown": interval_text(estimate),
                "difference": difference,
            })  # fmt: skip
        links.append({"model": model.model, "from": percent(transfer.rest.value), "to": percent(transfer.hard.value)})
    names = [model.model for model in shown]
    parts = ["hard images", "the rest"]
    y = altair.Y("model:N", sort=names, axis=name_axis(len(names), labelLimit=160))
    base = altair.Chart(inline(rows)).encode(
        y=y,
        color=altair.Color(
            "images:N",
            sort=parts,
            scale=altair.Scale(domain=parts, range=[COLORS[1], COLORS[0]]),
            legend=altair.Legend(title=None, symbolOpacity=1),
        ),
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("images:N"), altair.Tooltip("shown:N", title="error"),
            altair.Tooltip("difference:N"),
        ],
    )  # fmt: skip
    x = altair.X("value:Q", scale=altair.Scale(zero=True), axis=percent_axis("error"))
    shape = altair.Shape("images:N", sort=parts, scale=altair.Scale(domain=parts, range=[SHAPES[2], SHAPES[0]]))
    link = altair.Chart(inline(links)).mark_rule(color=GRAY, strokeDash=[2, 3], opacity=0.7)
    which = f"{len(shown)} of {len(models)} models, from best to worst" if len(shown) < len(models) else "best first"
    order = "" if result.ranking is None else f". Kendall's tau of both errors: {_bounds(result.ranking)}"
    return layered(
        link.encode(y=y, x="from:Q", x2="to:Q"),
        base.mark_rule(strokeWidth=2).encode(x="value_low:Q", x2="value_high:Q"),
        base.mark_point(size=60).encode(x=x, shape=shape),
    ).properties(
        title=_panel(
            "Which models err on the hard images?",
            f"Errors on hard images and on the rest with {100 * result.confidence:g}% intervals; {which}{order}",
        ),
        width=_WIDTH,
        height=len(names) * name_step(len(names)),
    )


def _bounds(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _expected(result: Confusion) -> altair.LayerChart:
    """The expected errors of a few models on the unlabeled set by each method, and the actual error if known."""
    unlabeled = result.unlabeled
    errors = unlabeled.errors if unlabeled else ()
    places = np.unique(np.linspace(0, len(errors) - 1, min(len(errors), 8)).round().astype(int))
    shown = [errors[i] for i in places]
    rows, actual = [], []
    for expected in shown:
        for key, name in _METHODS:
            estimate = getattr(expected, key)
            if estimate is not None:
                rows.append({
                    "model": expected.model, "method": name, **interval(estimate), "shown": interval_text(estimate)
                })  # fmt: skip
        if expected.actual:
            actual.append({
                "model": expected.model, **interval(expected.actual), "shown": interval_text(expected.actual),
            })  # fmt: skip
    names = [expected.model for expected in shown]
    methods = [name for _, name in _METHODS if any(row["method"] == name for row in rows)]
    y = altair.Y(
        "model:N", sort=names, axis=name_axis(len(names), labelLimit=160), scale=altair.Scale(paddingInner=0.35)
    )
    base = altair.Chart(inline(rows)).encode(
        y=y,
        yOffset=altair.YOffset("method:N", sort=methods),
        color=altair.Color(
            "method:N",
            sort=methods,
            scale=altair.Scale(domain=methods, range=list(COLORS[: len(methods)])),
            legend=altair.Legend(title=None, columns=2, symbolOpacity=1),
        ),
        tooltip=[altair.Tooltip("model:N"), altair.Tooltip("method:N"), altair.Tooltip("shown:N", title="expected")],
    )
    shape = altair.Shape(
        "method:N", sort=methods, scale=altair.Scale(domain=methods, range=list(SHAPES[: len(methods)]))
    )
    x = altair.X("value:Q", scale=altair.Scale(zero=True), axis=percent_axis("error"))
    marks = [
        base.mark_rule(strokeWidth=1.5).encode(x="value_low:Q", x2="value_high:Q"),
        base.mark_point().encode(x=x, shape=shape),
    ]
    if actual:
        band = altair.Chart(inline(actual)).encode(
            y=y, tooltip=[altair.Tooltip("model:N"), altair.Tooltip("shown:N", title="actual")]
        )
        marks = [
            band.mark_bar(color=GRAY, opacity=0.3).encode(x="value_low:Q", x2="value_high:Q"),
            band.mark_tick(color=INK, thickness=2).encode(x=altair.X("value:Q")),
            *marks,
        ]
    where = unlabeled.test_set if unlabeled else ""
    gray = " Gray: the actual error with its interval, from labels that were not used." if actual else ""
    return layered(*marks).properties(
        title=_panel(
            f"Expected error on {where}",
            f"Estimated without its labels by up to four methods, with {100 * result.confidence:g}% intervals.{gray}",
        ),
        width=_WIDTH,
        height=len(names) * (12 * max(len(methods), 2) + 12),
    )
