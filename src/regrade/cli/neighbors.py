"""regrade neighbors: exact and near duplicates in one or two image folders, without a workspace."""

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
    LeakageTable,
    MostOption,
    NearOption,
    PairsOption,
    SearchEngine,
    ShowOption,
    SizeOption,
    distances,
    shown_leakage,
    thresholds,
)


@shown
def neighbors(
    first: Annotated[Path, typer.Argument(help="Folder of images.")],
    second: Annotated[
        Path | None, typer.Argument(help="Second folder to search in (default: search within the first one).")
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
    """Find exact and near duplicates: pairs between two folders, or groups within one folder and which image to keep.

    Needs no workspace and stores nothing; `regrade study leakage` stores the signatures of images.
    """
    from regrade.workspace import find_near_duplicates

    result = find_near_duplicates(
        first,
        second,
        by=distances(by),
        near=thresholds(near),
        most=most,
        size=size,
        engine=engine.value,
        pairs=pairs,
        image_progress=watching_images,
    )
    draw(result, figure)
    matches, table = (result.pairs, LeakageTable.pairs) if second is not None else (result.groups, LeakageTable.groups)
    return shown_leakage(result, show or (table if matches else None), pairs)
