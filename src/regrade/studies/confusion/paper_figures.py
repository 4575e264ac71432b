"""The figures of Albiero et al. 2023 by name, and those of the rivals and of several ensembles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import (
    direct_labels,
    inline,
    interval,
    interval_text,
    layered,
    name_axis,
    percent,
    percent_axis,
)
from regrade.display.style import COLORS, GRAY, INK, PALE, SEQUENTIAL, SHAPES, WIDTH
from regrade.studies.confusion.distribution import Distribution, skewness
from regrade.studies.confusion.figure import error_in, joined_bins, score_axis, score_scale
from regrade.studies.confusion.figure_parts import numbers, plain_interval, titled_figure
from regrade.studies.confusion.findings import band_findings
from regrade.studies.confusion.result import ConfusedModel, Confusion
from regrade.studies.confusion.rival_figure import rival_figure
from regrade.studies.confusion.stride_figures import stride_correlations, stride_histograms
from regrade.studies.confusion.trend_figure import trend_figure

_CELLS = 60  # cells of the scatter of two ensembles, per axis
_NOTHING = 0.5  # a count of 0 on a logarithmic axis that starts above it
_HEIGHT = 300
_SMALL_WIDTH, _SMALL_HEIGHT = 250, 70  # a histogram by stride and members
_UNNAMED = "other models"  # all but the best, the median and the worst


def paper_figures(result: Confusion) -> dict[str, Figure]:
    """The figures that the result has data for, by name."""
    drawn = {name: draw(result) for name, draw in _FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _distribution(result: Confusion) -> Figure:
    """Figure 2: images by score on a logarithmic scale, of the test set and of the training set if scored."""
    train = result.train
    sets = {result.test_set: (result.distribution, result.images)}
    if train:
        sets[train.test_set] = (train.distribution, train.images)
    names = list(sets)
    rows = [row for name, (own, _) in sets.items() for row in _steps(result, name, own)]
    most = max(row["images"] for row in rows)
    chart = (
        altair.Chart(inline(rows))
        .mark_line(interpolate="step-after", clip=True)
        .encode(
            x=altair.X(
                "score:Q", axis=score_axis(result), scale=altair.Scale(domain=[0, result.ensemble.top], nice=False)
            ),
            y=altair.Y(
                "images:Q",
                axis=altair.Axis(
                    title=f"images per {result.bins.width:g} {result.ensemble.unit}",
                    format=",",
                    values=[10**power for power in range(len(str(int(most))))],
                ),
                scale=altair.Scale(type="log", domain=[0.7, 1.5 * most], nice=False),
            ),
            color=altair.Color(
                "set:N",
                sort=names,
                scale=altair.Scale(domain=names, range=[COLORS[0], COLORS[1]][: len(names)]),
                legend=altair.Legend(title=None) if train else None,
            ),
            tooltip=[altair.Tooltip("set:N"), altair.Tooltip("score:Q", title="from"), altair.Tooltip("images:Q")],
        )
        .properties(width=WIDTH, height=_HEIGHT)
    )
    sizes = " and ".join(f"{amount(images, 'image')} of {name}" for name, (_, images) in sets.items())
    means = ", ".join(f"{own.mean:.2f} on {name}" for name, (own, _) in sets.items())
    subtitle = f"{sizes}, scored by {result.ensemble.name}; mean score {means}. Logarithmic counts"
    return titled_figure(result, f"How are the confusion scores of {' and '.join(names)} distributed?", subtitle, chart)


def _steps(result: Confusion, name: str, own: Distribution) -> list[dict[str, Any]]:
    """The counts of all bins, and the end of the last one."""
    counts = [max(count, _NOTHING) for count in own.counts]
    edges = [round(result.bins.edges(place)[0], 6) for place in range(result.bins.count)]
    ends = [*zip(edges, counts, strict=True), (result.ensemble.top, counts[-1])]
    return [{"set": name, "score": score, "images": images} for score, images in ends]


def _ensembles(result: Confusion) -> Figure | None:
    """Figure 3: the scores of two ensembles, or of two members of one, with skewness and Kendall's tau."""
    if len(result.compared) < 2:
        return None
    (first, x), (second, y) = list(result.compared.items())[:2]
    tau = next((pair.tau for pair in result.agreements if (pair.first, pair.second) == (first, second)), None)
    top = 1.02 * max(float(x.max()), float(y.max()), result.bins.width)
    counts, edges, _ = np.histogram2d(x, y, bins=_CELLS, range=[[0, top], [0, top]])
    rows = [
        {"x": round(edges[i], 4), "x2": round(edges[i + 1], 4), "y": round(edges[j], 4), "y2": round(edges[j + 1], 4),
         "images": int(counts[i, j])}
        for i, j in np.argwhere(counts > 0)
    ]  # fmt: skip
    scale = altair.Scale(domain=[0, top], nice=False)
    unit = result.ensemble.unit
    cells = (
        altair.Chart(inline(rows))
        .mark_rect()
        .encode(
            x=altair.X("x:Q", scale=scale, axis=altair.Axis(title=f"score of {first}, in {unit}")),
            x2="x2:Q",
            y=altair.Y("y:Q", scale=scale, axis=altair.Axis(title=f"score of {second}, in {unit}")),
            y2="y2:Q",
            color=altair.Color(
                "images:Q",
                scale=altair.Scale(type="log", scheme=SEQUENTIAL, domainMin=0.3),
                legend=altair.Legend(title="images", orient="right", format="~s", tickCount=4),
            ),
            tooltip=[altair.Tooltip("images:Q", format=","), altair.Tooltip("x:Q"), altair.Tooltip("y:Q")],
        )
    )
    diagonal = altair.Chart(inline([{"a": 0, "b": 0}, {"a": top, "b": top}])).mark_line(
        color=GRAY, strokeDash=[3, 3], strokeWidth=1
    )
    chart = layered(cells, diagonal.encode(x="a:Q", y="b:Q")).properties(width=_HEIGHT + 60, height=_HEIGHT + 60)
    words = "" if tau is None else f"Kendall's tau {numbers(tau)} over {amount(result.images, 'image')}. "
    skews = " and ".join(f"{_skew(values)} of {name}" for name, values in ((first, x), (second, y)))
    title = f"Are the same images confusing for {first} and {second}?"
    return titled_figure(result, title, f"{words}Skewness {skews}. Dashed: equal scores", chart)


def _skew(values: FloatArray) -> str:
    skew = skewness(values)
    return "undefined" if skew is None else f"{skew:.2f}"


def _errors(result: Confusion) -> Figure | None:
    """Figure 4: the error of all models by score; lines have the color of the family if several are stated."""
    if not result.models:
        return None
    joined = joined_bins(result, result.models)
    outsiders = result.outsiders or result.models
    named = _family_names(outsiders) or _named(outsiders)
    rows = [
        row for model in outsiders for row in _curve(result, model, joined, named.get(model.model, _UNNAMED))
    ]  # fmt: skip
    shown = list(dict.fromkeys(named.values()))
    domain = [*shown, *([_UNNAMED] if len(outsiders) > len(named) else [])]
    palette = [*COLORS[: len(shown)], PALE][: len(domain)]
    base = altair.Chart().encode(
        x=altair.X("at:Q", axis=score_axis(result), scale=score_scale(result)),
        y=altair.Y("value:Q", axis=percent_axis("error"), scale=altair.Scale(domain=[0, 100], nice=False)),
        detail="model:N",
        color=altair.Color(
            "series:N",
            sort=domain,
            scale=altair.Scale(domain=domain, range=palette),
            legend=altair.Legend(title=None, columns=2, labelLimit=260, symbolOpacity=1),
        ),
        tooltip=[
            altair.Tooltip("model:N"), altair.Tooltip("score:N"), altair.Tooltip("shown:N", title="error"),
            altair.Tooltip("images:Q", format=","),
        ],
    )  # fmt: skip
    thin = base.transform_filter(f"datum.series === '{_UNNAMED}'").mark_line(strokeWidth=1)
    few = len(named) == len(shown)  # with families, many lines have a color
    bold = base.transform_filter(f"datum.series !== '{_UNNAMED}'").mark_line(
        strokeWidth=2.5 if few else 1.3, point=altair.OverlayMarkDef(size=30 if few else 12)
    )
    chart = layered(thin, bold).properties(data=inline(rows), width=WIDTH, height=_HEIGHT)
    correlations = [model.curve.single.value for model in outsiders if model.curve.single]
    words = f"; correlation over images {min(correlations):.2f} to {max(correlations):.2f}" if correlations else ""
    subtitle = (
        f"Error of {amount(len(outsiders), 'model')} by the confusion score of {result.ensemble.name}{words}. "
        f"Sparse bins are merged"
    )
    return titled_figure(result, "Do models err more where the score is high?", subtitle, chart)


def _named(models: Sequence[ConfusedModel]) -> dict[str, str]:
    """The names in the legend of the best, the median and the worst model, which come in this order."""
    places = {0: "best", len(models) // 2: "median", len(models) - 1: "worst"}
    if len(models) < 3:
        places = {place: "model" for place in range(len(models))}
    return {models[place].model: f"{word}: {models[place].model}" for place, word in places.items()}


def _family_names(models: Sequence[ConfusedModel]) -> dict[str, str]:
    """The family of each model, as far as it has a color: the largest ones; empty for fewer than two families."""
    sizes = Counter(model.family for model in models if model.family)
    colored = {name for name, _ in sizes.most_common(len(COLORS) - 1)} if len(sizes) > 1 else set()
    return {model.model: model.family for model in models if model.family in colored and model.family}


def _curve(result: Confusion, model: ConfusedModel, joined: Sequence[Any], series: str) -> list[dict[str, Any]]:
    rows = []
    for low, high, images in joined:
        error = error_in(model, low, high, result.confidence)
        if error is not None:
            rows.append({
                "model": model.model, "series": series, "at": round(float(result.scores[images].mean()), 4),
                "value": percent(error.value), "shown": interval_text(error), "images": error.n,
                "score": f"{low:.2f} to {high:.2f}",
            })  # fmt: skip
    return rows


def _bands(result: Confusion) -> Figure | None:
    """Figure 7: the error on easy and on hard images before and after a remedy."""
    bands = result.bands
    if bands is None:
        return None
    models = [bands.before, bands.after]
    rows: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for band in bands.bands:
        name = f"{band.name} ({amount(band.images, 'image')})"
        for model, error in zip(models, (band.before, band.after), strict=True):
            rows.append({"band": name, "model": model, **interval(error), "shown": interval_text(error)})
        labels.append({"band": name, "at": max(row["value_high"] for row in rows[-2:]), "change": _change(band.change)})
    names = [row["band"] for row in labels]
    y = altair.Y("band:N", sort=names, axis=name_axis(len(names)), scale=altair.Scale(paddingInner=0.4))
    base = altair.Chart(inline(rows)).encode(
        y=y,
        yOffset=altair.YOffset("model:N", sort=models),
        color=altair.Color(
            "model:N",
            sort=models,
            scale=altair.Scale(domain=models, range=[COLORS[0], COLORS[1]]),
            legend=altair.Legend(title=None, columns=2, labelLimit=260, symbolOpacity=1),
        ),
        tooltip=[altair.Tooltip("model:N"), altair.Tooltip("band:N"), altair.Tooltip("shown:N", title="error")],
    )
    shape = altair.Shape("model:N", sort=models, scale=altair.Scale(domain=models, range=list(SHAPES[:2])))
    x = altair.X("value:Q", axis=percent_axis("error"), scale=altair.Scale(domain=[0, 100], nice=False))
    text = altair.Chart(inline(labels)).mark_text(align="left", dx=10, color=INK).encode(
        y=y, x="at:Q", text="change:N"
    )  # fmt: skip
    chart = layered(
        base.mark_rule(strokeWidth=2).encode(x="value_low:Q", x2="value_high:Q"),
        base.mark_point(size=70).encode(x=x, shape=shape),
        text,
    ).properties(width=WIDTH - 60, height=70 * len(names))
    subtitle = (
        f"Errors on {result.test_set} below and above a confusion score of {bands.threshold:.2f} "
        f"{result.ensemble.unit}, and the change in points with its paired interval, corrected for both bands"
    )
    return titled_figure(result, band_findings(result)[0].headline, subtitle, chart)


def _change(change: Estimate) -> str:
    value, low, high = (f"{100 * part:+.1f}".replace("-", "−") for part in (change.value, change.low, change.high))
    return f"{value} [{low}, {high}]"


def _accuracy(result: Confusion) -> Figure | None:
    """The mean score of each ensemble against its accuracy."""
    graded = [row for row in result.ensembles if row.accuracy]
    if len(graded) < 2:
        return None
    rows: list[dict[str, Any]] = [
        {"ensemble": row.ensemble, **plain_interval(row.mean), **interval(row.accuracy, "accuracy"),
         "shown": interval_text(row.accuracy), "mean": numbers(row.mean)}
        for row in graded if row.accuracy
    ]  # fmt: skip
    tooltip = [
        altair.Tooltip("ensemble:N"), altair.Tooltip("mean:N", title="mean score"),
        altair.Tooltip("shown:N", title="accuracy"),
    ]  # fmt: skip
    unzeroed = altair.Scale(zero=False, padding=30)
    x = altair.X(
        "value:Q",
        scale=unzeroed,
        axis=altair.Axis(title=f"mean confusion score, in {result.ensemble.unit}", tickCount=8),
    )
    y = altair.Y("accuracy:Q", scale=unzeroed, axis=percent_axis("accuracy after the last epoch"))
    base = altair.Chart(inline(rows)).encode(tooltip=tooltip)
    chart = layered(
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=y),
        base.mark_rule(strokeWidth=1.5).encode(x=x, y="accuracy_low:Q", y2="accuracy_high:Q"),
        base.mark_point(color=COLORS[0], size=60).encode(x=x, y=y),
        direct_labels(rows, x="value", y="accuracy", text="ensemble", dy=-9),
    ).properties(width=WIDTH, height=_HEIGHT)
    subtitle = (
        f"{amount(len(rows), 'ensemble')} on {result.test_set}, with {100 * result.confidence:g}% intervals over images"
    )
    return titled_figure(result, "Are ensembles that are less confused more accurate?", subtitle, chart)


_FIGURES: Mapping[str, Callable[[Confusion], Figure | None]] = {
    "figure-2-distribution": _distribution,
    "figure-3-ensembles": _ensembles,
    "figure-4-error-by-score": _errors,
    "figure-5-strides": stride_histograms,
    "figure-6-correlations": stride_correlations,
    "figure-7-bands": _bands,
    "accuracy-by-confusion": _accuracy,
    "rivals": rival_figure,
    "trends": trend_figure,
}
