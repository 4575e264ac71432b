"""Figures 5 and 6 of Albiero et al. 2023: the score from fewer epochs and members."""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import inline, layered, percent
from regrade.display.style import COLORS, SHAPES, WIDTH
from regrade.studies.confusion.figure import score_axis
from regrade.studies.confusion.figure_parts import numbers, plain_interval, titled_figure
from regrade.studies.confusion.result import Confusion

_WIDTH, _HEIGHT = 250, 70  # of a histogram


def stride_histograms(result: Confusion) -> Figure | None:
    """Figure 5: histograms of the score by stride and members, with the score of an easy image."""
    if len(result.strides) < 2:
        return None
    rows: list[dict[str, Any]] = []
    for setting in result.strides:
        own = {"stride": _stride_words(setting.stride, setting.epochs), "members": _member_words(setting.members)}
        rows += [
            {
                **own,
                "from": low,
                "to": high,
                "share": percent(count / result.images),
                "easy": round(setting.easy_score, 4),
            }
            for place, count in enumerate(setting.counts)
            if count
            for low, high in [result.bins.edges(place)]
        ]
    strides = list(dict.fromkeys(row["stride"] for row in rows))
    members = list(dict.fromkeys(row["members"] for row in rows))
    highest = min(result.ensemble.top, 1.05 * max(row["to"] for row in rows))
    x = altair.X("from:Q", bin="binned", scale=altair.Scale(domain=[0, highest], nice=False), axis=score_axis(result))
    bars = altair.Chart().mark_bar(color=COLORS[5]).encode(
        x=x, x2="to:Q", y=altair.Y("share:Q", axis=altair.Axis(title=None, tickCount=3)),
        tooltip=[altair.Tooltip("from:Q", title="score from"), altair.Tooltip("share:Q", title="% of images")],
    )  # fmt: skip
    rule = altair.Chart().mark_rule(color=COLORS[1], strokeDash=[3, 2], strokeWidth=1.5).encode(x="mean(easy):Q")
    header = altair.Header(title=None, labelAngle=0, labelAlign="left", labelAnchor="middle")
    chart = (
        layered(bars, rule)
        .properties(data=inline(rows), width=_WIDTH, height=_HEIGHT)
        .facet(
            row=altair.Row("stride:N", sort=strides, header=header),
            column=altair.Column("members:N", sort=members, header=altair.Header(title=None)),
            spacing=14,
        )
    )
    top = result.ensemble.top
    subtitle = (
        f"Histograms in % of {amount(result.images, 'image')}. Dashed: an image that is uncertain at the first "
        f"checkpoint and certain at all others scores {top:.2f} over the number of epochs"
    )
    return titled_figure(result, "How do scores depend on the number of epochs and members?", subtitle, chart)


def _stride_words(stride: int, epochs: int) -> str:
    if stride == 1:
        return f"all {amount(epochs, 'epoch')}"
    return f"every {stride}{'rd' if stride == 3 else 'th'}: {amount(epochs, 'epoch')}"


def _member_words(members: int) -> str:
    return amount(members, "member")


def stride_correlations(result: Confusion) -> Figure | None:
    """Figure 6: the correlation of score and errors by stride and members."""
    settings = [setting for setting in result.strides if setting.error_correlation]
    if len(settings) < 2:
        return None
    rows: list[dict[str, Any]] = [
        {"members": _member_words(setting.members), "epochs": str(setting.epochs), "stride": setting.stride,
         **plain_interval(setting.error_correlation), "shown": numbers(setting.error_correlation)}
        for setting in settings
    ]  # fmt: skip
    members = list(dict.fromkeys(row["members"] for row in rows))
    epochs = list(dict.fromkeys(row["epochs"] for row in rows))
    base = altair.Chart().encode(
        x=altair.X("epochs:O", sort=epochs, axis=altair.Axis(title="epochs used", labelAngle=0, grid=False)),
        xOffset=altair.XOffset("members:N", sort=members, scale=altair.Scale(paddingOuter=1)),
        color=altair.Color(
            "members:N",
            sort=members,
            scale=altair.Scale(domain=members, range=list(COLORS[: len(members)])),
            legend=altair.Legend(title=None, symbolOpacity=1) if len(members) > 1 else None,
        ),
        tooltip=[altair.Tooltip("members:N"), altair.Tooltip("stride:Q"), altair.Tooltip("shown:N", title="r")],
    )
    shape = altair.Shape(
        "members:N", sort=members, scale=altair.Scale(domain=members, range=list(SHAPES[: len(members)]))
    )
    y = altair.Y("value:Q", axis=altair.Axis(title="Pearson's r"), scale=altair.Scale(zero=False, nice=True))
    chart = layered(
        base.mark_rule(strokeWidth=1.5).encode(y=altair.Y("low:Q"), y2="high:Q"),
        base.mark_point(size=60).encode(y=y, shape=shape),
    ).properties(data=inline(rows), width=WIDTH, height=300)
    models = amount(len(result.outsiders), "model")
    subtitle = (
        f"Correlation over images of the score with the share of {models} outside the ensemble that err, with "
        f"{100 * result.confidence:g}% intervals. Fewer epochs are evenly spaced, from the first on"
    )
    return titled_figure(result, "How many epochs and members does the score need?", subtitle, chart)
