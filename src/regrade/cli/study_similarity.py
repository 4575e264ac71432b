"""regrade study similarity: how similar the predictions of models are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 20  # rows of the table on a terminal


@shown
def similarity(
    test_set: TestSetOption,
    model: Annotated[list[str], typer.Option(help="Use only this model. May be repeated (default: all).")] = [],
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Score against this label set: NAME or NAME@VERSION.")
    ] = None,
    slice_: Annotated[str | None, typer.Option("--slice", help="Use only the images of this slice.")] = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Show the similarity of all pairs of models: error consistency, dominance, and shared predictions."""
    result = opened(workspace).similarity(test_set, models=model, labels=labels, slice=slice_, progress=watching)
    draw(result, figure)
    return CommandResult(result.table(), result.as_dict(), head=_HEAD)
