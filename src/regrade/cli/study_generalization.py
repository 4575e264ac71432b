"""regrade study generalization: do accuracies hold on new test sets?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import MapOption, WithinOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 24  # lines of a table that a terminal shows at once


class LineScale(StrEnum):
    """The scale on which accuracies lie on a line."""

    linear = "linear"
    probit = "probit"
    logit = "logit"


@shown
def generalization(
    original: Annotated[str, typer.Option(help="The original test set.")],
    new: Annotated[list[str], typer.Option(help="A new test set. May be repeated.")],
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    standard: Annotated[
        list[str], typer.Option(help="Draw the lines through these models only. May be repeated.")
    ] = [],
    scale: Annotated[
        LineScale, typer.Option(help="The scale of the figure, and of the line that effective robustness is against.")
    ] = LineScale.logit,
    within: WithinOption = None,
    class_map: MapOption = None,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Add least-squares lines with the percentile intervals of papers.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws of models for --bootstrap.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Hold models' accuracies on new test sets against the original: gaps, ranks, lines, robustness, overfitting."""
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
