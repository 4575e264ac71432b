"""regrade labels diff: what changed between two versions of labels, and what it did to every model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import RuleOption, TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

_HEAD = 40  # lines of a long list on the terminal


class Show(StrEnum):
    """What is printed."""

    models = "models"
    counts = "counts"
    pairs = "pairs"


@shown
def diff(
    before: Annotated[str, typer.Argument(help="The first version, such as own@1.")],
    after: Annotated[str, typer.Argument(help="The second one; a name alone is its newest version.")],
    test_set: TestSetOption,
    model: Annotated[list[str], typer.Option(help="Only these models, or people. May be repeated.")] = [],
    rule: RuleOption = None,
    show: Annotated[
        Show, typer.Option(help="models: accuracies under both. counts: what changed. pairs: every single change.")
    ] = Show.models,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Show what changed between two versions of labels, and what it did to every model.

    The difference is over the images that both versions score, with a paired interval; --json has everything.
    """
    chosen = rule.value if rule else None
    found = opened(workspace).label_change(
        before, after, test_set=test_set, models=model, rule=chosen, progress=watching
    )
    draw(found, figure)
    tables = {Show.models: found.table, Show.counts: found.count_table, Show.pairs: found.pair_table}
    return CommandResult(tables[show](), found.as_dict(), head=_HEAD)
