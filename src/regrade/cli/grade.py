"""regrade grade: the table of accuracies."""

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
from regrade.cli.output import watching


@shown
def grade(
    test_set: TestSetOption,
    labels: LabelsOption = None,
    rule: RuleOption = None,
    collapsed: CollapsedOption = False,
    slice_: Annotated[
        list[str],
        typer.Option(
            "--slice",
            help="Also grade this slice: a class group (dogs), a class or WordNet id, COLUMN=VALUE, COLUMN for all its "
            "values, an imported slice (imagenet-m, imagenet-x:pose), or imagenet-x for all. May be repeated.",
        ),
    ] = [],
    model: Annotated[
        list[str], typer.Option(help="Grade only this model. May be repeated (default: all models).")
    ] = [],
    within: WithinOption = None,
    clean: Annotated[
        str | None,
        typer.Option(
            help="Also show top-1 on this test set restricted to the same classes, e.g. imagenet-val for imagenet-a."
        ),
    ] = None,
    class_map: MapOption = None,
    half_width: Annotated[
        float | None,
        typer.Option(help="With --labels: show how many more judgments are needed for this half-width, e.g. 0.005."),
    ] = None,
    metric: Annotated[
        list[str],
        typer.Option(
            help="Add this metric: ece, adaptive-ece, brier, nll, or one that an installed package offers. May be "
            "repeated. Default: those listed in regrade.toml."
        ),
    ] = [],
    corruptions: Annotated[
        bool,
        typer.Option(
            "--corruptions",
            help="Show errors per corruption and the mCE instead; the test set needs the group columns corruption and "
            "severity. With --clean, also the relative mCE.",
        ),
    ] = False,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Grade models: top-1, top-5 and multi-label accuracy with confidence intervals, on all images and on slices."""
    ws = opened(workspace)
    if corruptions:
        if labels or rule or collapsed or slice_ or within or class_map or half_width or figure:
            raise typer.BadParameter("--corruptions can be combined with --clean and --model only")
        errors = ws.grade_corruptions(test_set, clean=clean, models=model, progress=watching)
        return CommandResult(errors.table(), errors.as_dict())
    result = ws.grade(
        test_set,
        labels=labels,
        rule=rule.value if rule else None,
        collapsed=collapsed,
        slices=slice_,
        models=model,
        within=within,
        class_map=class_map,
        clean=clean,
        half_width=half_width,
        metrics=metric or None,
        progress=watching,
    )
    draw(result, figure)
    return CommandResult(result.table(), result.as_dict())
