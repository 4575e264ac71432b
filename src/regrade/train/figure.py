"""The figure of a training: loss, training accuracy and test accuracy by epoch, one line per seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, panel_heading, percent, percent_axis
from regrade.display.style import COLORS, SHAPES
from regrade.train.result import TrainedEnsemble

_WIDTH, _HEIGHT = 400, 150
_TICKS = 10
_MANY = 30  # points on a line from which their marks would merge


def learning_curves(result: TrainedEnsemble) -> Figure:
    """Panels from top to bottom: the loss, the accuracy on training images, and that on each test set."""
    panels = [
        _panel(
            result,
            list(_losses(result)),
            "Loss",
            "Mean over the training images while the weights changed",
            quantity="loss",
        ),
        _panel(
            result,
            list(_training_accuracies(result)),
            "Training accuracy",
            "On augmented images while the weights changed",
        ),
    ]
    for name in result.test_sets:
        rows = list(_test_accuracies(result, name))
        if rows:
            panels.append(_panel(result, rows, f"Accuracy on {name}", "After the epochs whose scores are stored"))
    for place, name in enumerate(result.groups):
        rows = list(_group_weights(result, place))
        if rows:
            subtitle = "In the loss of GroupDRO, after the epoch"
            panels.append(_panel(result, rows, f"Weight of {name}", subtitle, quantity="weight"))
    title = f"How {result.network} learned {result.training_set}"
    subtitle = f"{amount(len(result.members), 'seed')} of {result.name}, {amount(result.images, 'training image')}"
    chart = altair.VConcatChart(vconcat=panels, spacing=24, title=heading(title, subtitle)).resolve_scale(
        y="independent"
    )
    return Figure(f"training of {result.name}", f"{title}. {subtitle}.", chart)


def _losses(result: TrainedEnsemble) -> Iterator[dict[str, Any]]:
    for curve in result.curves:
        for report in curve:
            if report.loss is not None:
                yield {"seed": str(report.seed), "epoch": report.epoch, "value": round(report.loss, 4)}


def _training_accuracies(result: TrainedEnsemble) -> Iterator[dict[str, Any]]:
    for curve in result.curves:
        for report in curve:
            if report.accuracy is not None:
                yield {"seed": str(report.seed), "epoch": report.epoch, "value": percent(report.accuracy)}


def _test_accuracies(result: TrainedEnsemble, name: str) -> Iterator[dict[str, Any]]:
    for curve in result.curves:
        for report in curve:
            right, labels = report.right.get(name, (0, 0))
            if labels:
                yield {"seed": str(report.seed), "epoch": report.epoch, "value": percent(right / labels)}


def _group_weights(result: TrainedEnsemble, place: int) -> Iterator[dict[str, Any]]:
    for curve in result.curves:
        for report in curve:
            if report.group_weights:
                weight = percent(report.group_weights[place])
                yield {"seed": str(report.seed), "epoch": report.epoch, "value": weight}


def _panel(
    result: TrainedEnsemble, rows: list[dict[str, Any]], title: str, subtitle: str, *, quantity: str = "accuracy"
) -> altair.LayerChart:
    seeds = [str(member.seed) for member in result.members]
    epochs = {row["epoch"] for row in rows}
    last = result.members[0].epochs
    ticks = list(range(0, last + 1, -(-last // _TICKS)))
    is_loss = quantity == "loss"
    axis = altair.Axis(title=quantity) if is_loss else percent_axis(quantity)
    colors = altair.Scale(domain=seeds, range=[COLORS[place % len(COLORS)] for place in range(len(seeds))])
    shapes = altair.Scale(domain=seeds, range=[SHAPES[place % len(SHAPES)] for place in range(len(seeds))])
    base = altair.Chart(inline(rows)).encode(
        x=altair.X("epoch:Q", axis=altair.Axis(title="epoch", values=ticks), scale=altair.Scale(domain=[0, last])),
        y=altair.Y("value:Q", axis=axis, scale=altair.Scale(zero=is_loss)),
        color=altair.Color("seed:N", sort=seeds, scale=colors, legend=altair.Legend(title="seed")),
        tooltip=[altair.Tooltip("seed:N"), altair.Tooltip("epoch:Q"), altair.Tooltip("value:Q", title=quantity)],
    )
    marks = [base.mark_line(strokeWidth=1.5)]
    if len(epochs) <= _MANY:
        legend = altair.Legend(title="seed")
        shape = altair.Shape("seed:N", sort=seeds, scale=shapes, legend=legend)
        marks.append(base.mark_point(size=24).encode(shape=shape))
    return altair.LayerChart(layer=marks).properties(
        title=panel_heading(title, subtitle, width=_WIDTH), width=_WIDTH, height=_HEIGHT
    )
