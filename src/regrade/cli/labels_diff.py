"""regrade labels diff: the changes between two versions of a label set, and their effect on every model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import RuleOption, TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 40  # rows of a long list on a terminal


class LabelsDiffTable(StrEnum):
    """The tables of the comparison."""

    models = "models"
    counts = "counts"
    pairs = "pairs"


@shown
def diff(
    before: Annotated[str, typer.Argument(help="First label set, such as own@1.")],
    after: Annotated[str, typer.Argument(help="Second label set; a name without a version means the newest version.")],
    test_set: TestSetOption,
    model: Annotated[
        list[str], typer.Option(help="Use only this model or person. May be repeated (default: all).")
    ] = [],
    rule: RuleOption = None,
    show: Annotated[
        LabelsDiffTable,
        typer.Option(help="models: accuracy under both. counts: number of changes. pairs: every change."),
    ] = LabelsDiffTable.models,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Show the changes between two versions of a label set, and their effect on every model.

    Differences are computed over the images that both versions score, with a paired confidence interval; --json prints
    all tables.
    """
    chosen = rule.value if rule else None
    change = opened(workspace).label_change(
        before, after, test_set=test_set, models=model, rule=chosen, progress=watching
    )
    draw(change, figure)
    tables = {
        LabelsDiffTable.models: change.table,
        LabelsDiffTable.counts: change.count_table,
        LabelsDiffTable.pairs: change.pair_table,
    }
    return CommandResult(tables[show](), change.as_dict(), head=_HEAD)
