"""regrade study generalization: compare accuracies on new test sets with the original one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import MapOption, WithinOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 24  # rows of a table on a terminal


class LineScale(StrEnum):
    """The scale on which a line is fitted to the accuracies."""

    linear = "linear"
    probit = "probit"
    logit = "logit"


@shown
def generalization(
    original: Annotated[str, typer.Option(help="Original test set.")],
    new: Annotated[list[str], typer.Option(help="New test set. May be repeated.")],
    model: Annotated[list[str], typer.Option(help="Use only this model. May be repeated (default: all).")] = [],
    standard: Annotated[
        list[str], typer.Option(help="Fit the lines to this model only. May be repeated (default: all).")
    ] = [],
    scale: Annotated[
        LineScale, typer.Option(help="Scale of the figure, and of the line that defines effective robustness.")
    ] = LineScale.logit,
    within: WithinOption = None,
    class_map: MapOption = None,
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap", help="Add least-squares lines with bootstrap percentile intervals, as in the papers."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --bootstrap.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Compare accuracies on new test sets with the original: gaps, ranks, linear fits, robustness, overfitting."""
    result = opened(workspace).generalization(
        original,
        new,
        models=model,
        standard=standard,
        scale=scale.value,
        within=within,
        class_map=class_map,
        bootstrap=bootstrap,
        seed=seed,
        progress=watching,
    )
    draw(result, figure)
    return CommandResult(result.table(), result.as_dict(), _HEAD)
