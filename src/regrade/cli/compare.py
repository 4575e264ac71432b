"""regrade compare: paired tests between models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import (
    CollapsedOption,
    LabelsOption,
    MapOption,
    RuleOption,
    TestSetOption,
    WithinOption,
    WorkspaceOption,
    opened,
)
from regrade.cli.output import StreamedList, watching

_HEAD, _MOST = 200, 10_000  # rows on a terminal, and in every form but CSV


@shown
def compare(
    test_set: TestSetOption,
    models: Annotated[list[str] | None, typer.Argument(help="Names of two or more models.")] = None,
    everyone: Annotated[bool, typer.Option("--all", help="Compare all models of the test set.")] = False,
    pairs: Annotated[bool, typer.Option("--pairs", help="Show the test of every pair instead of the ranking.")] = False,
    labels: LabelsOption = None,
    rule: RuleOption = None,
    collapsed: CollapsedOption = False,
    slice_: Annotated[str | None, typer.Option("--slice", help="Compare on the images of this slice only.")] = None,
    within: WithinOption = None,
    class_map: MapOption = None,
    equivalence: Annotated[
        float | None,
        typer.Option(help="Also test for equivalence: differences below this many percentage points, e.g. 0.5."),
    ] = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Compare models on the same images: differences, McNemar tests corrected for multiple comparisons, and ranks."""
    if everyone == bool(models):
        raise typer.BadParameter("give the names of two or more models, or --all")
    result = opened(workspace).compare(
        *(models or ()),
        test_set=test_set,
        labels=labels,
        rule=rule.value if rule else None,
        collapsed=collapsed,
        slice=slice_,
        within=within,
        class_map=class_map,
        equivalence=None if equivalence is None else equivalence / 100,
        progress=watching,
    )
    draw(result, figure)
    table = result.pair_table() if pairs else result.table()
    return CommandResult(table, result.as_dict(StreamedList), head=_HEAD, most=_MOST)
