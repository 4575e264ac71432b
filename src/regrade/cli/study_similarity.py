"""regrade study similarity: how alike models are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 20  # pairs that people see


@shown
def similarity(
    test_set: TestSetOption,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Right is what is right under this label set: NAME or NAME@V.")
    ] = None,
    slice_: Annotated[str | None, typer.Option("--slice", help="Only the images of this slice.")] = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """How alike all pairs of models are: error consistency, dominance against independence, the same classes."""
    result = opened(workspace).similarity(test_set, models=model, labels=labels, slice=slice_, progress=watching)
    draw(result, figure)
    return CommandResult(result.table(), result.as_dict(), head=_HEAD)
