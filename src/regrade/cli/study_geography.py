"""regrade study geography: are models right everywhere alike, and does progress reach everyone?"""

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

_HEAD = 24  # lines of a table that a terminal shows at once


class Show(StrEnum):
    """The tables of the study."""

    models = "models"
    groups = "groups"
    progress = "progress"


@shown
def geography(
    test_set: TestSetOption,
    by: Annotated[
        str, typer.Option(help="The column of groups: region, country, income or any other; numbers are cut.")
    ],
    original: Annotated[
        str | None, typer.Option(help="The test set that progress is measured on, such as imagenet-val.")
    ] = None,
    standard: Annotated[
        list[str], typer.Option(help="A standard test set, to hold progress against. May be repeated.")
    ] = [],
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    top: Annotated[int, typer.Option(min=1, help="Right if the label is among the best so many.")] = 1,
    between: Annotated[
        tuple[str, str] | None, typer.Option(help="The difference of these two groups.", metavar="GROUP GROUP")
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(help="The column of what was drawn together; household, if the set has such a column."),
    ] = None,
    parts: Annotated[int | None, typer.Option(min=2, help="Into how many parts numbers are cut; 4.")] = None,
    growth: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Hold the disparity of a strong model against that of a weak one; without it the best and the weakest "
            "quarter on the original.",
            metavar="MODEL MODEL",
        ),
    ] = None,
    class_map: Annotated[
        Path | None,
        typer.Option(help="CSV or JSON from the labels' classes to the predicted ones, instead of the set's own map."),
    ] = None,
    show: Annotated[
        Show, typer.Option(help="models: one line each. groups: a line a model and group. progress: rates and gaps.")
    ] = Show.models,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws of models behind the intervals of rates.")] = 0,
    figure: FigureOption = None,
    world_map: Annotated[
        Path | None,
        typer.Option("--map", help="Also draw the best model's accuracies on a map, as .html, .svg, .png or .pdf."),
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Study models by region, country, income or any group: accuracies, disparities, and whom progress reaches."""
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
    """Save the map; groups that have none are told, and the study is shown all the same."""
    from regrade.core import UndefinedError
    from regrade.report import map_figure

    try:
        drawn = map_figure(result)
    except UndefinedError as error:
        say(f"no map: {error}")
        return
    say(f"map: {drawn.save(path)}")
