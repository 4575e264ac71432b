"""regrade study geography: how does accuracy vary by region or income, and does progress reach every group?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say, watching

if TYPE_CHECKING:
    from regrade.studies import Geography

_HEAD = 24  # rows of a table on a terminal


class GeographyTable(StrEnum):
    """The tables of the study."""

    models = "models"
    groups = "groups"
    progress = "progress"


@shown
def geography(
    test_set: TestSetOption,
    by: Annotated[
        str,
        typer.Option(help="Column of the groups: region, country, income or any other; numeric columns are binned."),
    ],
    original: Annotated[str | None, typer.Option(help="Test set that measures progress, such as imagenet-val.")] = None,
    standard: Annotated[
        list[str], typer.Option(help="Standard test set to compare the rate of progress with. May be repeated.")
    ] = [],
    model: Annotated[list[str], typer.Option(help="Use only this model. May be repeated (default: all).")] = [],
    top: Annotated[int, typer.Option(min=1, help="Compute top-N accuracy.", metavar="N")] = 1,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(help="GeographyTable the difference between these two groups.", metavar="GROUP GROUP"),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(help="Column of the sampling clusters (default: household, if there is such a column)."),
    ] = None,
    parts: Annotated[int | None, typer.Option(min=2, help="Number of bins of a numeric column (default: 4).")] = None,
    growth: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Compare the disparity of a strong model with that of a weak one (default: the best and the weakest "
            "quarter on the original test set).",
            metavar="MODEL MODEL",
        ),
    ] = None,
    class_map: Annotated[
        Path | None,
        typer.Option(help="CSV or JSON map from label classes to predicted classes (default: the test set's own map)."),
    ] = None,
    show: Annotated[
        GeographyTable,
        typer.Option(help="models: one row per model. groups: one row per model and group. progress: rates and gaps."),
    ] = GeographyTable.models,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap intervals.")] = 0,
    figure: FigureOption = None,
    world_map: Annotated[
        Path | None,
        typer.Option("--map", help="Also save a map of the best model's accuracies: .html, .svg, .png or .pdf."),
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Study accuracy by region, country, income or any group: accuracies, disparities, and progress by group."""
    from regrade.studies import GeographyPart

    result = opened(workspace).geography(
        test_set,
        by=by,
        original=original,
        standard=standard,
        models=model,
        top=top,
        between=[between] if between else [],
        clusters=clusters,
        parts=parts,
        growth=growth,
        class_map=class_map,
        seed=seed,
        progress=watching,
    )
    draw(result, figure)
    if world_map is not None:
        _draw_map(result, world_map)
    return CommandResult(result.part(GeographyPart(show.value)), result.as_dict(), _HEAD)


def _draw_map(result: Geography, path: Path) -> None:
    """Save the map; if the groups cannot be drawn on a map, print the reason and continue."""
    from regrade.core import UndefinedError
    from regrade.report import map_figure

    try:
        drawn = map_figure(result)
    except UndefinedError as error:
        say(f"no map: {error}")
        return
    say(f"map: {drawn.save(path)}")
