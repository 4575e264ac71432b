"""regrade neighbors: twins in a folder of images, or between two, without a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.output import watching_images
from regrade.cli.study_leakage import (
    ByOption,
    EngineOption,
    MostOption,
    NearOption,
    PairsOption,
    SearchEngine,
    Show,
    ShowOption,
    SizeOption,
    cuts,
    distances,
    shown_leakage,
)


@shown
def neighbors(
    first: Annotated[Path, typer.Argument(help="A folder of images.")],
    second: Annotated[
        Path | None, typer.Argument(help="Another one to search in; within the first one unless given.")
    ] = None,
    by: ByOption = "",
    near: NearOption = [],
    most: MostOption = 10,
    size: SizeOption = 256,
    engine: EngineOption = SearchEngine.numpy,
    show: ShowOption = None,
    pairs: PairsOption = None,
    figure: FigureOption = None,
) -> CommandResult:
    """Twins among images: pairs between two folders, or groups within one and which image to keep of each.

    Needs no workspace and keeps nothing; `regrade study leakage` keeps what it has looked at.
    """
    from regrade.workspace import find_near_duplicates

    result = find_near_duplicates(
        first,
        second,
        by=distances(by),
        near=cuts(near),
        most=most,
        size=size,
        engine=engine.value,
        pairs=pairs,
        image_progress=watching_images,
    )
    draw(result, figure)
    found = (result.pairs, Show.pairs) if second is not None else (result.groups, Show.groups)
    return shown_leakage(result, show or (found[1] if found[0] else None), pairs)
